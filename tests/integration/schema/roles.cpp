// sql/roles.sql: its roles can do all that they are for, and no more.
#include <catch2/catch_test_macros.hpp>

#include "inbox/operations_check.hpp"
#include "integration/support/inbox.hpp"
#include "support/environment.hpp"
#include "support/process.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The roles of one inbox, and a login that has some of them.
class Roles final {
 public:
  explicit Roles(Inbox& inbox) : inbox_{inbox}, prefix_{random_name("role")} {
    apply();
    run("create role " + name("login") + " login");
  }
  ~Roles() {
    for (const char* role : {"login", "owner", "ingest", "worker", "reader"}) {
      run("drop owned by " + name(role) + "; drop role " + name(role));
    }
  }
  Roles(const Roles&) = delete;
  Roles& operator=(const Roles&) = delete;

  void apply() {
    Command command{{"psql", "-qX", "-v", "schema=" + inbox_.settings().schema}};
    for (const char* role : {"owner", "ingest", "worker", "reader"}) {
      command.arguments.insert(command.arguments.end(), {"-v", role + ("=" + name(role))});
    }
    command.arguments.insert(command.arguments.end(), {"-f", "sql/roles.sql", inbox_.database().url()});
    const auto finished = run_to_end(command);
    INFO(finished.err);
    REQUIRE(finished.status == ExitStatus{0, 0});
  }
  /// The login, as a member of these only.
  std::unique_ptr<inbox::Connection> connect(const std::vector<std::string>& roles) {
    for (const char* role : {"ingest", "worker", "reader"}) run("revoke " + name(role) + " from " + name("login"));
    for (const auto& role : roles) run("grant " + name(role) + " to " + name("login"));
    auto settings = inbox_.settings();
    settings.url = settings.url.replace(settings.url.find("postgres@"), 8, name("login"));
    return inbox_.connect(settings);
  }

 private:
  std::string name(const std::string& role) const { return prefix_ + "_" + role; }
  void run(const std::string& sql) { inbox_.database().run(sql); }

  Inbox& inbox_;
  std::string prefix_;
};

}  // namespace

TEST_CASE("the roles ingest and worker can each do their work, and together all of the daemon's") {
  using namespace std::chrono_literals;
  Inbox inbox;
  Roles roles{inbox};
  roles.apply();  // again, as after each migration
  auto daemon = roles.connect({"ingest", "worker"});
  CHECK(inbox::missing_rights(*daemon).empty());
  inbox::instance_seen(*daemon, {inbox.owner, "host", 1}, false);
  CHECK(inbox::make_partitions(*daemon, 3) == 3);

  daemon = roles.connect({"ingest"});

  config::Handler handler;
  handler.name = "receipt";
  handler.topics = {"orders"};
  const auto id = inbox::register_handlers(*daemon, {handler}).at(0).handler_id;
  handler.topics = {"audit"};
  handler.name = "of-audit";
  inbox::register_handlers(*daemon, {handler});
  handler.types = {"Happened"};
  CHECK_FALSE(inbox::register_handlers(*daemon, {handler}).at(0).change.empty());
  inbox::write_first_positions(*daemon, {{"orders", "", 0, 0}, {"audit", "", 0, 0}}, "orders");
  const auto orders = inbox::find_position(*daemon, "orders", 0)->shard_id;
  const auto audit = inbox::find_position(*daemon, "audit", 0)->shard_id;

  const auto seen = base::random_uuid();
  Batch first{inbox};
  CHECK(first.at(orders, 0).event(seen).events(4).reject("no_id").owe(id).store(*daemon).stored == 5);
  Batch second{inbox};  // the same id on another topic, and again with another payload
  CHECK(second.at(audit, 0).event(seen).store(*daemon).duplicates == 1);
  Batch third{inbox};
  CHECK(third.at(audit, 1).event(seen, "other").store(*daemon).conflicts == 1);
  CHECK(inbox.database().number("select due from inbox.backlog where handler = 'of-audit'") == 1);
  handler.name = "late";
  handler.start = Inbox::beginning();
  handler.topics = {};
  inbox::register_handlers(*daemon, {handler});
  inbox::halt_shard(*daemon, orders, "why", std::nullopt);
  inbox::resume_shard(*daemon, orders, "why");
  inbox::record_watermarks(*daemon, {{orders, 10}});

  daemon = roles.connect({"worker"});
  while (inbox::backfill_bite(*daemon, 100)) {
  }
  auto claimed = claim_due(*daemon, id, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  CHECK(inbox::renew(*daemon, inbox.owner, {claimed.runs[0].key}, 30s) == 1);
  CHECK(inbox::settle(*daemon, inbox.owner, {all_done(claimed.runs[0])}).empty());
  CHECK_FALSE(inbox::drop_partition(*daemon, "event", 24h).has_value());
  inbox::trim_ledger(*daemon, 24h, 100);
  inbox::trim_positions(*daemon, 100);
  inbox::trim_old_rows(*daemon, 24h, 24h, 100);
}

TEST_CASE("who may only read can neither drop nor make a day, nor who ingests drop one") {
  using namespace std::chrono_literals;
  Inbox inbox;
  Roles roles{inbox};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).store(inbox.connection());
  {
    const auto reader = roles.connect({"reader"});
    CHECK(failure_of([&] { inbox::drop_partition(*reader, "event", 0ms); }).sqlstate == "42501");
    CHECK(failure_of([&] { inbox::make_partitions(*reader, 3); }).sqlstate == "42501");
    CHECK(inbox::find_position(*reader, "orders", 0)->next_offset == 1);
  }
  {
    const auto ingest = roles.connect({"ingest"});
    CHECK(failure_of([&] { inbox::drop_partition(*ingest, "event", 0ms); }).sqlstate == "42501");
    CHECK(inbox::make_partitions(*ingest, 2) == 0);
  }
  const auto nobody = roles.connect({});
  CHECK(failure_of([&] { inbox::drop_partition(*nobody, "event", 0ms); }).sqlstate == "42501");
  CHECK(
      inbox.database().number("select count(*) from pg_proc p, aclexplode(p.proacl) a where p.prosecdef and a.grantee "
                              "= 0 and p.pronamespace = $1::regnamespace",
                              {inbox.database().schema()}) == 0);
  CHECK(inbox.database().number("select count(*) from inbox.events") == 1);
}
