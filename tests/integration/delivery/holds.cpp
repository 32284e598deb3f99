// Pauses for all instances, and the trial after a fuse has blown.
#include <catch2/catch_test_macros.hpp>

#include "inbox/handler_hold.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

using State = inbox::HandlerHold::State;

struct Holds {
  Holds() {
    write(first, {inbox::HoldNews::Kind::blown, "3 failures in a row"});
    inbox.database().run("select inbox.resume_handler('partner')");
  }
  State read(const base::Uuid& owner, bool may_try = true) {
    const std::vector<std::int32_t> ids{handler};
    const std::vector<std::int32_t> none;
    return inbox::read_holds(inbox.connection(), owner, ids, may_try ? ids : none, 10s).at(0).state;
  }
  void write(const base::Uuid& owner, const inbox::HoldNews& news) {
    inbox::write_hold(inbox.connection(), owner, handler, news);
  }
  Inbox inbox;
  const std::int32_t handler = inbox.add_handler("partner");
  const base::Uuid first = base::random_uuid();
  const base::Uuid second = base::random_uuid();
};

}  // namespace

TEST_CASE("only an instance that may run the handler gets its trial, and another takes over if it no longer may") {
  Holds holds;
  CHECK(holds.read(holds.first, false) == State::held);
  CHECK(holds.read(holds.second) == State::trial);
  CHECK(holds.read(holds.first) == State::held);
  holds.inbox.database().run("update inbox.handler set trial_until = trial_until + interval '1 hour'");  // clock back
  CHECK(holds.read(holds.first) == State::trial);
}

TEST_CASE("a pause during a trial holds, whatever the trial shows") {
  Holds holds;
  CHECK(holds.read(holds.first) == State::trial);
  CHECK(holds.inbox.database().text("select inbox.pause_handler('partner', 'nightly import')") == "t");
  holds.write(holds.first, {inbox::HoldNews::Kind::closed, ""});
  CHECK(holds.read(holds.first) == State::held);
  CHECK(holds.inbox.database().text("select paused_reason from inbox.handler") == "nightly import");
  CHECK(holds.inbox.database().number("select count(*) from inbox.audit where operation = 'handlers pause' "
                                      "and detail ->> 'reason' = 'nightly import'") == 1);
}

TEST_CASE("a session that has locked a handler does not hold up the pauses of others") {
  Holds holds;
  CHECK(holds.read(holds.first) == State::trial);
  Session other{holds.inbox.database().url(), holds.inbox.database().schema()};
  other.run("begin");
  other.run("select * from inbox.handler for update");
  CHECK(holds.read(holds.second) == State::held);
  CHECK(failure_of([&] { holds.write(holds.first, {inbox::HoldNews::Kind::blown, "again"}); }).sqlstate == "55P03");
  other.run("rollback");
  holds.write(holds.first, {inbox::HoldNews::Kind::closed, ""});
  CHECK(holds.read(holds.second) == State::open);
}
