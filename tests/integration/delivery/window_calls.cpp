// Calls of a batch handler, as its owner claims them after crashes.
#include "integration/delivery/in_order.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::in_order;

namespace {

/// A closed window of 150 events in rows of 30, which were in flight at crashes; calls of 100.
struct Crashed : InOrder {
  explicit Crashed(const std::vector<int>& rows = {30, 30, 30, 30, 30})
      : InOrder{config::OrderScope::handler, Inbox::beginning()} {
    register_handler(config::OrderScope::handler, Inbox::now(), config::Mode::batch);
    for (const int events : rows) store(events);
    take(inbox.owner, 1);
    database().run(
        "insert into inbox.batch_window (handler_id, closed_at, began_at, last_ordinal, events) "
        "select handler_id, clock_timestamp() + interval '1 s', clock_timestamp() + interval '1 s', 1000000, 150 "
        "from inbox.handler");
  }

  inbox::ClaimedInOrder claim_after(int crashes, const std::string& rows = "true") {
    database().run("update inbox.delivery set owner = null, fence = 0, claims = case when " + rows + " then " +
                   std::to_string(crashes) + " else 0 end");
    return claim_call(100, 5);
  }
  inbox::ClaimedInOrder claim_call(int call_events, int max_crashes) {
    inbox::ClaimInOrderRequest request;
    request.claim.handler_id = handler;
    request.claim.owner = inbox.owner;
    request.claim.fence = base::random_fence();
    request.claim.events = 1'000;
    request.claim.rows = 1'000;
    request.claim.claims_to = max_claims;
    request.window = inbox::WindowToRead{1, false, call_events, max_crashes};
    return inbox::claim_in_order(connection(), request);
  }
  /// Runs the window; each event of `culprits` crashes the process. Returns the dead events, each with the number of
  /// crashes that it was charged, and then the number of all crashes.
  std::string run(const event::OffsetSet& culprits, int call_events, int max_crashes) {
    std::string out;
    int crashes = 0;
    for (int claims = 0; claims < 100; ++claims) {
      const auto claimed = claim_call(call_events, max_crashes);
      if (state_of(claimed) == State::ended) break;
      bool is_crash = false;
      for (const auto& run : claimed.claimed.runs) {
        if (run.was_alone && run.claims > max_crashes) {
          out += run.pending.text() + " after " + std::to_string(run.claims - 1) + ", ";
        } else {
          for (const auto* event : run.events) is_crash = is_crash || culprits.contains(event->offset);
        }
      }
      crashes += is_crash ? 1 : 0;
      database().run(is_crash ? "update inbox.delivery set owner = null, fence = 0 where owner is not null"
                              : "delete from inbox.delivery where owner is not null");
    }
    return out + std::to_string(crashes) + " crashes";
  }
};

}  // namespace

TEST_CASE("a window gives nothing under another fence of its sequence, or to another owner") {
  Crashed window;
  SECTION("another fence") { window.database().run("update inbox.sequence set fence = fence + 1"); }
  SECTION("another owner") {
    window.database().run("update inbox.sequence set owner = $1", {base::random_uuid().text()});
  }
  const auto refused = window.claim_call(100, 5);
  CHECK(state_of(refused) == State::lost);
  CHECK(refused.claimed.runs.empty());
}

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
    CHECK(window.database().text("select string_agg(distinct claims::text, ' ') from inbox.delivery") == "0 1 4");
  }
  SECTION("not while suspects may not run") {
    window.max_claims = 2;
    const auto none = window.claim_after(3);
    CHECK(none.claimed.runs.empty());
    CHECK(state_of(none) == State::waits);
  }
}

TEST_CASE("after max_crashes, the events of a call that crashed together are halved") {
  Crashed window;
  CHECK(events_in(window.claim_after(4).claimed.runs) == 100);
  CHECK(events_in(window.claim_after(5).claimed.runs) == 50);
  CHECK(events_in(window.claim_after(5, "lower(pending) < 30").claimed.runs) == 15);
  for (const std::int64_t events : {7, 3, 1, 1}) {
    CHECK(events_in(window.claim_after(20, "lower(pending) = 0").claimed.runs) == events);
  }
}

TEST_CASE("only an event that crashed the process while it was alone in its call of a window is dead") {
  // Four crashes of the whole call, then it is halved, and the culprit's last crash is its own.
  CHECK(Crashed{{3}}.run(offsets({1}), 1'000, 4) == "{[1,2)} after 5, 5 crashes");
  CHECK(Crashed{{1, 2}}.run(offsets({0}), 1'000, 4) == "{[0,1)} after 5, 5 crashes");
  CHECK(Crashed{{4}}.run(offsets({1}), 4, 4) == "{[1,2)} after 6, 6 crashes");
  CHECK(Crashed{{4}}.run(offsets({1, 3}), 4, 4) == "{[1,2)} after 6, {[3,4)} after 5, 7 crashes");
  // The only event of a window is alone from the fourth crash on.
  CHECK(Crashed{{1}}.run(offsets({0}), 1'000, 4) == "{[0,1)} after 4, 4 crashes");
  CHECK(Crashed{{30, 30, 30}}.run(offsets({40}), 1'000, 10).starts_with("{[40,41)} after 1"));
}
