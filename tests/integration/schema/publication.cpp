// Logical replication of the whole database, which other programs set up.
#include <catch2/catch_test_macros.hpp>

#include "integration/operations/operation_runner.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

class Publication final {
 public:
  explicit Publication(Inbox& inbox) : inbox_{inbox} {
    inbox_.database().run("create publication everything for all tables");
  }
  ~Publication() { inbox_.database().run("drop publication everything"); }
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

 private:
  Inbox& inbox_;
};

}  // namespace

// fault: publication for all tables
TEST_CASE("erasing and retention work with a publication for all tables") {
  Inbox inbox;
  const Publication publication{inbox};
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(4, "secret").deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set key = 'a' where \"offset\" = 1");
  auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  auto settlement = all_done(run);
  settlement.failures.push_back({run.events[1]->event_id, 1, "timeout", "no answer", milliseconds{12}});
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  OperationRunner runner{inbox};
  CHECK(runner.run("events forget", {{"key", {"a"}}}).code == base::ExitCode::done);
  CHECK(inbox.database().text("select string_agg(message, ' ') from inbox.failure") == "forgotten");
  make_old_day(inbox);
  const auto shard = inbox.database().text("select shard_id from inbox.shard");
  CHECK(inbox.database().number("select gone from inbox.trim_events($1, now() - interval '1 day', 0, 1000)",
                                {shard}) == 4);
  CHECK(inbox::drop_partition(inbox.connection(), "event", std::chrono::hours{24}).has_value());
}

// fault: publication for all tables
TEST_CASE("every table can be changed with a publication for all tables") {
  Inbox inbox;
  inbox::make_partitions(inbox.connection(), 3);
  CHECK(inbox.database().text(
            "select coalesce(string_agg(c.relname, ' ' order by c.relname), '') from pg_class c "
            "where c.relnamespace = $1::regnamespace and c.relkind = 'r' and c.relreplident = 'd' "
            "and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)",
            {inbox.database().schema()}) == "");
}
