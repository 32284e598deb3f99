#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>

#include "integration/operations/lanes_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using End = LanesFixture::End;

TEST_CASE("view lanes shows each blocked key with its first event and the number that wait") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaca");
  lanes.run('a', End::retried);
  lanes.store("aab");
  lanes.run('b', End::retried);
  CHECK(lanes.lanes() == "receipt a blocked 4, receipt b blocked 0");
  CHECK(inbox.database().text("select head_event_id::text from inbox.lanes where key = 'a'") == lanes.event_id(0));
  CHECK(inbox.database().text("select attempts || ' ' || last_error || ' ' || (due_at > now()) from inbox.lanes "
                              "where key = 'a'") == "1 timeout: no answer true");
  // The next event of the key has not failed: the key is that of the events before.
  inbox.database().run("update inbox.delivery set due_at = now() where due_at < 'infinity'");
  for (const auto& run : lanes.claim())
    inbox::settle(inbox.connection(), inbox.owner, {[&] {
                    inbox::Settlement done = all_done(run);
                    done.is_of_lane = true;
                    return done;
                  }()});
  CHECK(lanes.lanes() == "receipt a blocked 3");
  CHECK(inbox.database().text("select head_event_id::text || attempts from inbox.lanes") == lanes.event_id(2) + "0");
  CHECK(lanes.drain() == "2 4 5 6");
  CHECK(lanes.lanes() == "");
}

TEST_CASE("view lanes shows each parked key with the dead letter that parks it") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaa");
  lanes.run('a', End::parks);
  CHECK(lanes.lanes() == "receipt a parked 2");
  CHECK(inbox.database().text("select head_event_id || ' ' || attempts || ' ' || last_error from inbox.lanes") ==
        lanes.event_id(0) + " 1 timeout: no answer");
}

TEST_CASE("view lanes is fast with many lanes and with deep lanes") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("a");
  lanes.run('a', End::parks);
  inbox.database().run(
      "insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, pending, events, attempts, due_at, "
      "received_from, received_to) select x.handler_id, x.shard_id, x.sequence, i, i % 20000, "
      "int8multirange(int8range(i, i + 1)), 1, 1, 'infinity', now(), now() "
      "from inbox.dead_letter x, generate_series(1, 60000) i");
  inbox.database().run(
      "insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, received_at, attempts, "
      "reasons, sequence, ordinal, lane, state, parks) select handler_id, gen_random_uuid(), shard_id, i, 'x', now(), "
      "0, '[]', sequence, i, 100000 + i % 5000, case when i < 5000 then 'dead' else 'parked' end, i < 5000 "
      "from inbox.dead_letter, generate_series(1, 30000) i");
  inbox.database().run("analyze inbox.delivery; analyze inbox.dead_letter");
  const auto began = std::chrono::steady_clock::now();
  CHECK(inbox.database().number("select count(*) from inbox.lanes where waiting > 1") == 24'999);
  const auto took = std::chrono::steady_clock::now() - began;
  WARN("25000 lanes with 90000 events: " << std::chrono::duration_cast<milliseconds>(took).count() << " ms");
  CHECK(took < std::chrono::seconds{5});
}

// fault: dead letter replayed while later events of its key run
TEST_CASE("a replayed dead letter of a key runs before its later events that have not run") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaaab");
  lanes.run('a', End::retried);
  inbox.database().run("update inbox.delivery set due_at = now() where due_at < 'infinity'");
  lanes.run('a', End::dead);  // 0 is dead, 2, 3, 4 are due
  lanes.store("ab");
  OperationRunner runner{inbox};
  SECTION("they wait in its lane") {
    CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    CHECK(lanes.lanes() == "receipt a blocked 3");
    CHECK(inbox.database().number("select count(*) from inbox.delivery where due_at < 'infinity'") == 1);
    const auto order = lanes.drain();
    CHECK(order.substr(0, 2) == "0 ");
    CHECK(order.substr(order.size() - 7) == "2 3 4 6");
  }
  SECTION("a later event is retrying") {
    lanes.run('a', End::retried);
    runner.run("dead replay", {{"all", {"true"}}});
    const auto order = lanes.drain();
    CHECK(order.find("0") < order.find("2"));
    CHECK(order.find("2 3 4 6") != std::string::npos);
  }
  SECTION("events were purged") {
    inbox.database().run("delete from inbox.event where \"offset\" = 0");
    CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("restored") == 1);
    const auto order = lanes.drain();
    CHECK(order.find("0") < order.find("2"));
    CHECK(order.find("2 3 4 6") != std::string::npos);
  }
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("dead letters of a key are replayed in the order of storing, between events that wait") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aaaaaa");
  lanes.run('a', End::retried);
  // As after `events skip` of 1 and 4, and of 2: the rows of the lane are cut around them.
  const auto skip = [&](int offset) {
    CHECK(OperationRunner{inbox}
              .run("events skip", {{"id", {lanes.event_id(offset)}}, {"handler", {"receipt"}}, {"reason", {"a test"}}})
              .code == ExitCode::done);
  };
  for (const int offset : {1, 4, 2}) skip(offset);
  CHECK(lanes.lanes() == "receipt a blocked 2");
  inbox.database().run("delete from inbox.event where \"offset\" = 1");  // restored with a later time
  CHECK(OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 3);
  CHECK(lanes.lanes() == "receipt a blocked 5");
  inbox.database().run("update inbox.delivery set due_at = now() where due_at < 'infinity'");
  CHECK(lanes.drain() == "0 1 2 3 4 5");
}

TEST_CASE("a dead letter of history is replayed before its later events, whose delivery began with earlier events") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aaaa");
  inbox.database().run("update inbox.delivery set ordinal = 0, received_from = received_from - interval '1 hour'");
  lanes.run('a', End::retried);
  inbox.database().run("update inbox.delivery set due_at = now() where due_at < 'infinity'");
  lanes.run('a', End::dead);
  CHECK(OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
  CHECK(lanes.drain() == "0 1 2 3");
}

TEST_CASE("a replay of the dead letter that parks a key brings its parked events back, in order") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaa");
  lanes.run('a', End::parks);
  lanes.store("a");
  for (const auto& run : lanes.claim()) {
    inbox::Settlement parked;
    parked.key = run.key;
    parked.whole = true;
    parked.dead.push_back(
        {4, run.events[0]->event_id, inbox::DeadEvent::State::parked, inbox::FailedKey{1000 + 'a', "a"}});
    inbox::settle(inbox.connection(), inbox.owner, {parked});
  }
  REQUIRE(lanes.lanes() == "receipt a parked 3");
  OperationRunner runner{inbox};
  const auto list = runner.run("dead list").document.at("dead_letters");
  CHECK(list.at(0).at("state") == "parked");
  CHECK(list.at(3).at("state") == "dead");
  SECTION("with its head") {
    const auto plan = runner.run("dead replay", {{"all", {"true"}}, {"dry-run", {"true"}}}).document;
    CHECK(plan.at("matched") == 1);
    CHECK(plan.at("parked") == 3);
    CHECK(runner.run("dead replay", {{"error", {"timeout"}}}).document.at("replayed") == 4);
    CHECK(lanes.lanes() == "receipt a blocked 3");
    CHECK(lanes.drain() == "0 2 3 4");
  }
  SECTION("a parked event alone stays") {
    const auto answer = runner.run("dead replay", {{"id", {lanes.event_id(3)}}});
    CHECK(answer.code == ExitCode::no);
    CHECK(answer.message.find("replay the dead letter that parks their key") != std::string::npos);
  }
  SECTION("a discard of the head releases them") {
    const auto answer = runner.run("dead discard", {{"id", {lanes.event_id(0)}}});
    CHECK(answer.document.at("discarded") == 1);
    CHECK(answer.document.at("released") == 3);
    CHECK(lanes.drain() == "2 3 4");
    CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 0);
  }
  SECTION("a discard of all discards no event that was never called") {
    const auto answer = runner.run("dead discard", {{"all", {"true"}}});
    CHECK(answer.document.at("discarded") == 1);
    CHECK(lanes.drain() == "2 3 4");
  }
  SECTION("a release leaves the head dead") {
    const auto plan = runner.run("lanes release", {{"key", {"a"}}, {"dry-run", {"true"}}}).document;
    CHECK(plan.at("matched") == 1);
    CHECK(plan.at("waiting") == 3);
    CHECK(runner.run("lanes release", {{"key", {"b"}}}).code == ExitCode::no);
    CHECK(runner.run("lanes release", {{"key-hex", {"61"}}}).document.at("released") == 3);
    CHECK(inbox.database().text("select string_agg(state || parks, ' ') from inbox.dead_letter") == "deadfalse");
    CHECK(inbox.database().text("select actor || ' ' || target || ' ' || (detail ->> 'events') from inbox.audit where "
                                "operation = 'lanes release'") == "ann@host --key-hex (hidden) 3");
    CHECK(lanes.drain() == "2 3 4");
  }
}

TEST_CASE("many parked events come back in several transactions, and the key stays parked until the last") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store(std::string(2'501, 'a'));
  lanes.run('a', End::parks);
  REQUIRE(lanes.lanes() == "receipt a parked 2500");
  OperationRunner runner{inbox};
  runner.context.pause = [](milliseconds) { return true; };
  const bool replays = GENERATE(true, false);
  const std::map<std::string, std::vector<std::string>> all{{"all", {"true"}}};
  const auto first = runner.run(replays ? "dead replay" : "lanes release", all);
  CHECK(first.code == ExitCode::try_again);
  CHECK(lanes.lanes() ==
        (replays ? "receipt a blocked 1000, receipt a parked 1499" : "receipt a blocked 999, receipt a parked 1499"));
  runner.context.pause = [](milliseconds) { return false; };
  CHECK(runner.run(replays ? "dead replay" : "lanes release", all).document.at(replays ? "replayed" : "released") ==
        1500);
  const auto order = lanes.drain();
  CHECK(std::count(order.begin(), order.end(), ' ') == (replays ? 2500 : 2499));
  CHECK(order.substr(0, 6) == (replays ? "0 1 2 " : "1 2 3 "));
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == (replays ? 0 : 1));
}

TEST_CASE(
    "a dead letter without a lane is replayed in no order, and so is a dead letter of a handler that keeps no order") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aa");
  lanes.run('a', End::dead);
  inbox.database().run(GENERATE("update inbox.dead_letter set lane = null",
                                "update inbox.handler set order_scope = 'handler'",
                                "update inbox.handler set mode = 'single'"));
  CHECK(OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
  CHECK(events_in(claim_due(inbox.connection(), lanes.handler, inbox.owner).runs) == 1);
}

TEST_CASE("lanes list shows blocked and parked keys, by handler and key") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaa");
  lanes.run('a', End::retried);
  OperationRunner runner{inbox};
  const auto list = runner.run("lanes list", {{"handler", {"receipt"}}, {"key", {"a"}}}).document.at("lanes");
  REQUIRE(list.size() == 1);
  CHECK(list.at(0).at("key") == "a");
  CHECK(list.at(0).at("state") == "blocked");
  CHECK(list.at(0).at("waiting") == 2);
  CHECK(list.at(0).at("head_event_id") == lanes.event_id(0));
  CHECK(runner.run("lanes list", {{"key", {"b"}}}).code == ExitCode::no);
  CHECK(runner.run("lanes list", {{"handler", {"reciept"}}}).document.at("did_you_mean") == "receipt");
  CHECK(runner.run("lanes list", {{"key-hex", {"6"}}}).code == ExitCode::usage);
  CHECK(runner.run("lanes list", {{"key-hex", {"zz"}}}).code == ExitCode::usage);
  CHECK(runner.run("lanes list", {{"key-hex", {"61"}}, {"key", {"a"}}}).code == ExitCode::usage);
  CHECK(runner.run("lanes release", {}).code == ExitCode::usage);
}

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

Given event_for(const std::string& id, const std::string& reason = "") {
  Given out{{"id", {id}}, {"handler", {"receipt"}}};
  if (!reason.empty()) out["reason"] = {reason};
  return out;
}

}  // namespace

TEST_CASE("events retry makes the first event of a lane due now, and no other") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aa");
  lanes.run('a', End::retried);
  OperationRunner runner{inbox};
  REQUIRE(lanes.drain() == "");
  auto dry = event_for(lanes.event_id(0));
  dry["dry-run"] = {"true"};
  CHECK(runner.run("events retry", dry).document.at("state") == "retrying");
  const auto waiting = runner.run("events retry", event_for(lanes.event_id(1)));
  CHECK(waiting.code == ExitCode::no);
  CHECK(waiting.message ==
        "events retry: the event does not wait for a retry: it waits for an earlier event of its key; "
        "retry that event");
  REQUIRE(lanes.drain() == "");
  CHECK(runner.run("events retry", event_for("orders/0/0")).document.at("retried") == true);
  CHECK(
      inbox.database().text("select operation || ' ' || actor || ' ' || (detail ->> 'handler') from inbox.audit where "
                            "operation like 'events%'") == "events retry ann@host receipt");
  CHECK(runner.run("events retry", event_for(lanes.event_id(0))).code == ExitCode::no);  // it is due
  const auto runs = lanes.claim();
  REQUIRE(runs.size() == 1);
  CHECK(runner.run("events retry", event_for(lanes.event_id(0))).code == ExitCode::try_again);  // it is leased
  CHECK(runner.run("events skip", event_for(lanes.event_id(0), "why")).code == ExitCode::try_again);
}

TEST_CASE("events retry of a handler makes all its waiting events due, or only events with an error class") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abab");
  lanes.run('a', End::retried);
  OperationRunner runner{inbox};
  REQUIRE(lanes.drain() == "");
  const Given all{{"handler", {"receipt"}}};
  auto dry = all;
  dry["dry-run"] = {"true"};
  CHECK(runner.run("events retry", dry).document.at("matched") == 1);
  REQUIRE(lanes.drain() == "");
  auto other = all;
  other["error"] = {"http.*"};
  CHECK(runner.run("events retry", other).code == ExitCode::no);
  REQUIRE(lanes.drain() == "");
  const auto retried = runner.run("events retry", all);
  CHECK(retried.document.at("matched") == 1);
  CHECK(retried.document.at("retried") == true);
  CHECK(lanes.drain() == "0 2");
  CHECK(runner.run("events retry", all).code == ExitCode::no);
  CHECK(runner.run("events retry", {{"handler", {"reciept"}}}).document.at("did_you_mean") == "receipt");
  CHECK(runner.run("events retry", {}).code == ExitCode::usage);
}

TEST_CASE("a deferred event and its blocked key are shown, and events retry makes it due") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aabb");
  lanes.run('a', End::deferred);
  OperationRunner runner{inbox};
  REQUIRE(lanes.drain() == "");
  CHECK(inbox.database().text("select state || ' ' || attempts || ' ' || last_error from inbox.deliveries "
                              "where event_id = '" + lanes.event_id(0) + "'") == "retrying 0 busy: later");
  const auto shown = runner.run("events show", {{"id", {lanes.event_id(0)}}}).document.at("handlers").at(0);
  CHECK(shown.at("state") == "retrying");
  CHECK(shown.at("last_error") == "busy: later");
  CHECK(runner.run("events list", {{"state", {"retrying"}}, {"limit", {"10"}}, {"search", {"100"}}})
            .document.at("events").size() == 1);
  const std::string status = runner.run("status").document.dump();
  CAPTURE(status);
  CHECK(status.find("keys_blocked") != std::string::npos);
  SECTION("by its id") {
    CHECK(runner.run("events retry", event_for(lanes.event_id(0))).document.at("retried") == true);
  }
  SECTION("with all of its handler") {
    CHECK(runner.run("events retry", {{"handler", {"receipt"}}}).document.at("matched") == 1);
  }
  CHECK(lanes.drain() == "0 1");
}

TEST_CASE("events retry of an event without a lane leaves the others of its delivery alone") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt", {"orders"});
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(5).deliver_to(handler);
  batch.store(inbox.connection());
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement failed;
  failed.key = run.key;
  failed.whole = true;
  failed.retries.push_back({run.pending, milliseconds{3'600'000}, "timeout: no answer"});
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {failed}).empty());
  CHECK(OperationRunner{inbox}.run("events retry", event_for("orders/0/2")).code == ExitCode::done);
  const auto due = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(due) == 1);
  CHECK(due[0].events[0]->offset == 2);
  CHECK(due[0].attempts == 1);
  CHECK(inbox.pending_events() == 5);
}

TEST_CASE("events skip makes the first event of a lane a dead letter, and the next is due") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aaa");
  lanes.run('a', End::retried);
  OperationRunner runner{inbox};
  CHECK(runner.run("events skip", event_for(lanes.event_id(0))).code == ExitCode::usage);
  CHECK(runner.run("events skip", event_for(lanes.event_id(0), "the order was deleted")).document.at("skipped") ==
        true);
  CHECK(inbox.database().text("select state || parks || ' ' || (reasons -> -1 ->> 'error_class') || ' ' || "
                              "(reasons -> -1 ->> 'message') from inbox.dead_letter") ==
        "deadfalse operator.skipped the order was deleted");
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation = 'events skip'") == 1);
  CHECK(inbox.database().text("select state from inbox.deliveries where event_id = $1", {lanes.event_id(0)}) == "dead");
  SECTION("the key goes on") { CHECK(lanes.drain() == "1 2"); }
  SECTION("a replay delivers it first") {
    CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    CHECK(lanes.drain() == "0 1 2");
  }
}

TEST_CASE("events skip takes an event out of its sequence before it is claimed") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abcd");
  OperationRunner runner{inbox};
  CHECK(runner.run("events skip", event_for("orders/0/1", "a test")).code == ExitCode::done);
  CHECK(runner.run("events skip", event_for("orders/0/1", "a test")).code == ExitCode::no);
  CHECK(lanes.drain() == "0 2 3");
}

TEST_CASE("events retry and skip explain what they do not find") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("a");
  OperationRunner runner{inbox};
  CHECK(runner.run("events skip", {{"id", {"orders/0/0"}}, {"reason", {"x"}}}).code == ExitCode::usage);
  auto other = event_for("orders/0/0", "x");
  other["handler"] = {"reciept"};
  CHECK(runner.run("events skip", other).document.at("did_you_mean") == "receipt");
  CHECK(runner.run("events skip", event_for("orders/0/7", "x")).code == ExitCode::no);
  inbox.database().run("delete from inbox.event");
  const auto purged = runner.run("events skip", event_for("orders/0/0", "x"));
  CHECK(purged.code == ExitCode::no);
  lanes.drain();
}
