// Calls of a batch handler, as its owner claims them after crashes.
#include "integration/delivery/in_order.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::in_order;

namespace {

/// A closed window of 150 events in rows of 30, which were in flight at crashes; calls of 100.
struct Crashed : InOrder {
  Crashed() : InOrder{config::OrderScope::handler, Inbox::beginning()} {
    register_handler(config::OrderScope::handler, Inbox::now(), config::Mode::batch);
    for (int i = 0; i < 5; ++i) store(30);
    take(inbox.owner, 1);
    database().run(
        "insert into inbox.batch_window (handler_id, closed_at, began_at, last_ordinal, events) "
        "select handler_id, clock_timestamp() + interval '1 s', clock_timestamp() + interval '1 s', 1000000, 150 "
        "from inbox.handler");
  }

  inbox::ClaimedInOrder claim_after(int crashes, const std::string& rows = "true") {
    database().run("update inbox.delivery set owner = null, fence = 0, claims = case when " + rows + " then " +
                   std::to_string(crashes) + " else 0 end");
    inbox::ClaimInOrderRequest request;
    request.claim.handler_id = handler;
    request.claim.owner = inbox.owner;
    request.claim.fence = base::random_fence();
    request.claim.events = 1'000;
    request.claim.rows = 1'000;
    request.claim.claims_to = most_claims;
    request.window = inbox::WindowToRead{1, false, 100, 5};
    return inbox::claim_in_order(connection(), request);
  }
};

}  // namespace

TEST_CASE("after one or two crashes, all calls of a window are claimed") {
  Crashed window;
  CHECK(events_in(window.claim_after(2).claimed.runs) == 150);
}

TEST_CASE("after three crashes, a call of a window is claimed whole and alone") {
  Crashed window;
  const auto claimed = window.claim_after(3);
  CHECK(offsets_of(claimed) == Texts{"{[0,30)}", "{[30,60)}", "{[60,90)}", "{[90,100)}"});
  CHECK(state_of(claimed) == State::more);
  SECTION("also if only its first events were in flight at the crashes") {
    const auto again = window.claim_after(3, "lower(pending) = 0");
    CHECK(events_in(again.claimed.runs) == 100);
    for (const auto& run : again.claimed.runs) CHECK(run.claims == 4);
  }
  SECTION("not while suspects may not run") {
    window.most_claims = 2;
    const auto none = window.claim_after(3);
    CHECK(none.claimed.runs.empty());
    CHECK(state_of(none) == State::waits);
  }
}

TEST_CASE("after max_crashes, a call of a window is halved with each further crash") {
  Crashed window;
  CHECK(events_in(window.claim_after(4).claimed.runs) == 100);
  CHECK(events_in(window.claim_after(5).claimed.runs) == 50);
  CHECK(events_in(window.claim_after(6).claimed.runs) == 25);
  CHECK(events_in(window.claim_after(20).claimed.runs) == 1);
}
