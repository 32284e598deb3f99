// Findings from the figures that live instances send, and from the growth of dead letters and quarantine.
#include <catch2/catch_test_macros.hpp>

#include "operations/status_operation.hpp"

using namespace inboxd;
using namespace inboxd::operations;
using std::chrono::seconds;

namespace {

constexpr event::Microseconds now = 1'700'000'400'000'000;  // 2023-11-14T22:20:00Z

/// A handler, which has had 100 successes within a minute, and its daemon.
struct Scene {
  std::string last_message;  // as with the right to read it
  Scene() {
    situation.now = now;
    situation.handlers.resize(1);
    situation.handlers[0].name = "notify";
    situation.handlers[0].handler_id = 7;
    situation.instances.resize(1);
    situation.instances[0].handlers = {7};
    activity.handler_id = 7;
    activity.span = seconds{60};
    activity.concurrency = 8;
    activity.done = 100;
  }
  std::vector<StatusFinding> findings() {
    situation.activities[7] = {};
    situation.activities[7].add(activity, now);
    situation.activities[7].last_message = last_message;
    return findings_of(situation);
  }
  /// The only finding.
  StatusFinding finding() {
    const auto all = findings();
    INFO(judge(situation).sentence());
    REQUIRE(all.size() == 1);
    return all[0];
  }

  Situation situation;
  inbox::HandlerActivity activity;
};

}  // namespace

TEST_CASE("a handler all of whose calls fail is a problem, with the last error, since when and how many keys wait") {
  Scene scene;
  scene.activity.done = 0;
  scene.activity.failed = scene.activity.failed_in_row = 49;
  scene.activity.failing_for = seconds{180};
  scene.activity.last_error_class = "http.500";
  scene.activity.last_failed_event = "0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f";
  scene.activity.blocked_keys = 8;
  const auto finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::problem);
  CHECK(finding.kind == "handler_fails");
  CHECK(finding.message ==
        "all 49 calls of handler notify failed since 2023-11-14T22:17:00Z, the last with http.500 (inboxd events show "
        "0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f); 8 keys wait");
  scene.last_message = "POST http://127.0.0.1:8080/orders was answered 500: boom";
  CHECK(scene.finding().message ==
        "all 49 calls of handler notify failed since 2023-11-14T22:17:00Z, the last with http.500: POST "
        "http://127.0.0.1:8080/orders was answered 500: boom; 8 keys wait");
  CHECK(finding.remedy.find("inboxd events retry --handler notify") != std::string::npos);
  CHECK(finding.since == now - 180'000'000);
}

TEST_CASE("the last hour tells since when most calls fail, and since when a backlog grows") {
  Scene scene;
  auto& recent = scene.situation.recent;
  recent.step = 60;
  recent.steps = 5;
  recent.end = now / 1'000'000;
  auto& fields = recent.handlers["notify"].fields;
  fields.resize(history::handler_fields.size(), history::Values(5, history::unknown));
  fields[history::failed] = {0, 0.25, 0.25, 0.25, history::unknown};
  fields[history::done] = {1, 0, 0.05F, 0, history::unknown};
  scene.activity.done = 4;
  scene.activity.failed = 45;
  scene.activity.last_error_class = "http.503";
  const auto finding = scene.finding();
  CHECK(finding.message ==
        "about 45 of 48 calls of handler notify failed in the last 4 min, the last with http.503");
  CHECK(finding.since == now - 240'000'000);

  scene.activity.failed = 0;
  scene.activity.done = 100;
  scene.activity.grown = 600;
  scene.activity.running_calls = 8;
  scene.situation.handlers[0].due.number = 5'000;
  fields[history::waiting] = {0, 0, 900, 2'000, history::unknown};
  CHECK(scene.finding().kind == "handler_too_slow");
  CHECK(scene.finding().since == now - 180'000'000);
}

TEST_CASE("a handler most of whose calls fail is a problem; a bad event of a quiet handler is no problem") {
  Scene scene;
  scene.activity.done = 4;
  scene.activity.failed = 45;
  scene.activity.last_error_class = "http.503";
  CHECK(scene.finding().message ==
        "45 of 49 calls of handler notify failed in the last 60 s, the last with http.503");
  scene.activity.failed = 3;
  CHECK(scene.findings().empty());
  scene.activity.done = 0;
  scene.activity.failed_in_row = 7;  // tries of a single event
  scene.situation.handlers[0].retrying = {1, false};
  CHECK(scene.findings().empty());
  scene.situation.handlers[0].retrying = {3, false};
  CHECK(scene.finding().kind == "handler_fails");
  scene.activity.failed = 0;
  scene.situation.handlers[0].retrying = {};  // all are dead letters, and nothing has come since
  CHECK(scene.findings().empty());
}

TEST_CASE("where another instance succeeds, not all calls fail") {
  ActivityState state;
  inbox::HandlerActivity failing, working;
  failing.span = working.span = seconds{60};
  failing.failed = failing.failed_in_row = 20;
  working.done = 100;
  state.add(failing, now);
  state.add(working, now);
  CHECK(state.sum.failed_in_row == 0);
  CHECK(state.sum.failed == 20);
  CHECK(state.sum.done == 100);
}

TEST_CASE("a service that is away is a remark at once and a problem after ten seconds, with its address and error") {
  Scene scene;
  scene.activity.away_for = seconds{4};
  scene.activity.away_error = "http.unreachable: http://127.0.0.1:8080: connection refused";
  scene.situation.handlers[0].due = {186, false};
  auto finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::remark);
  CHECK(finding.message ==
        "the service of handler notify is away since 2023-11-14T22:19:56Z: http.unreachable: "
        "http://127.0.0.1:8080: connection refused; 186 events pending");
  scene.activity.away_for = seconds{11};
  finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::problem);
  CHECK(finding.remedy == "start the service; its events then run by themselves, without a charged attempt");
}

TEST_CASE("a backlog that grows while all calls are busy names rates, calls and the remedy") {
  Scene scene;
  scene.activity.done = 240;       // 4 a second
  scene.activity.grown = 16 * 60;  // in a minute
  scene.activity.running_calls = 8;
  scene.activity.call_seconds = 2;
  scene.situation.handlers[0].due = {533, false};
  const auto finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::remark);
  CHECK(finding.message ==
        "handler notify is too slow: 20/s arrive, 4/s are done, calls busy: 8 of 8, 2 s each; 533 events pending");
  CHECK(finding.remedy == "raise concurrency of notify, or start another instance");
  scene.activity.running_calls = 2;
  CHECK(scene.findings().empty());
  scene.activity.limited = true;
  CHECK(scene.finding().remedy == "raise rate or max_in_flight of notify, which limits it");
  scene.activity.grown = -100;
  CHECK(scene.findings().empty());
}

TEST_CASE("events without a key of a handler that keeps order are a remark, from two on") {
  Scene scene;
  scene.activity.unkeyed = 1;
  CHECK(scene.findings().empty());
  scene.activity.unkeyed = 3'000;
  CHECK(scene.finding().message == "3000 events of handler notify have no key and run in no order");
  CHECK(scene.finding().severity == StatusFinding::Severity::remark);
}

TEST_CASE("a statement whose paths find no value in 100 events in a row is a remark, with paths and count") {
  Scene scene;
  scene.activity.body_paths = "body->>'orderId', body->>'amount'";
  scene.activity.without_value = 99;
  CHECK(scene.findings().empty());
  scene.activity.without_value = 100;
  CHECK(scene.finding().message ==
        "the last 100 events of handler notify have no value at any path that its statement reads (body->>'orderId', "
        "body->>'amount')");
  CHECK(scene.finding().severity == StatusFinding::Severity::remark);
}

TEST_CASE("a blocked key is named with its error and the events that wait for it, unless all calls fail anyway") {
  Scene scene;
  scene.situation.blocked = {{7, 1, 12, "cust-7", "http.500: boom", now - 60'000'000}};
  const auto finding = scene.finding();
  CHECK(finding.message == "handler notify has key cust-7: 12 events wait for a failed event (http.500: boom)");
  CHECK(finding.severity == StatusFinding::Severity::remark);
  scene.situation.blocked[0].key = std::nullopt;
  scene.situation.blocked[0].last_error = "";
  CHECK(scene.finding().message == "handler notify has a key: 12 events wait for a failed event");
  scene.situation.blocked[0].key = "cust-7";
  scene.situation.blocked[0].keys = 3;
  CHECK(scene.finding().message.find("has 3 keys; behind key cust-7: 12 events wait") != std::string::npos);
  scene.activity.done = 0;
  scene.activity.failed = scene.activity.failed_in_row = 12;
  CHECK(scene.finding().kind == "handler_fails");
}

TEST_CASE("many dead letters within minutes are a problem, with their class; older dead letters are a remark") {
  Scene scene;
  scene.situation.handlers[0].dead = {545, false};
  CHECK(scene.finding().message == "handler notify has 545 dead letters");
  scene.situation.dead_growth = {{7, 544, 544, 544, now - 8'000'000, "sql.23514", 544, "amount_small"}};
  const auto finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::problem);
  CHECK(finding.message ==
        "handler notify has 545 dead letters, 544 of them in the last minute, all sql.23514: amount_small");
  CHECK(finding.remedy ==
        "inboxd dead list --handler notify --group-by error; after the fix, inboxd dead replay --handler notify "
        "--error sql.23514");
  scene.situation.dead_growth[0].of_ten_minutes = 2;
  CHECK(scene.finding().severity == StatusFinding::Severity::remark);
}

TEST_CASE("a topic whose records go to quarantine is a problem, with the reason and the setting to change") {
  Scene scene;
  scene.situation.quarantine = {{{"orders", "no_id", 3}}, {3, false}};
  scene.situation.quarantine_growth = {{"orders", 3, now - 60'000'000, "no_id", "no id in header or value", false, 0}};
  const auto finding = scene.finding();
  CHECK(finding.severity == StatusFinding::Severity::problem);
  CHECK(finding.message ==
        "all 3 records of topic orders went to quarantine since 2023-11-14T22:19:00Z: no_id (no id in header or "
        "value)");
  CHECK(finding.remedy ==
        "set on_missing_id or "
        "custom.id (with envelope: custom) for topic orders, restart the daemon, then inboxd quarantine retry "
        "--topic orders");
  scene.situation.quarantine_growth[0].are_empty = true;
  CHECK(scene.finding().remedy.starts_with("the values are empty: set tombstones: skip for topic orders"));
  scene.situation.quarantine_growth[0].stored = 1'000;
  CHECK(scene.finding().severity == StatusFinding::Severity::remark);
  CHECK(scene.finding().message ==
        "3 in quarantine, all of topic orders, reason no_id, 3 in the last hour");
}

TEST_CASE("handlers of the caller's file that no daemon has registered are a problem while others run") {
  Scene scene;
  scene.situation.configured = {"notify", "daily-report", "customer-state"};
  CHECK(scene.finding().message ==
        "handlers daily-report, customer-state of this file are not registered: no daemon has started with it");
  scene.situation.instances.clear();
  CHECK(scene.finding().kind == "no_live_daemon");
}

TEST_CASE("a handler whose daemon has ended is reported with that daemon, not as a missing topic") {
  Scene scene;
  scene.situation.handlers.push_back(scene.situation.handlers[0]);
  scene.situation.handlers[1].name = "customer-state";
  scene.situation.handlers[1].handler_id = 9;
  scene.situation.handlers[1].topics = {"sales"};
  scene.situation.instances[0].topics = {"orders"};
  scene.situation.ended[9] = {{"vm", 5078}, now - 18 * 60'000'000LL};
  const auto finding = scene.finding();
  CHECK(finding.kind == "handler_daemon_ended");
  CHECK(finding.message ==
        "no daemon runs handler customer-state or reads its topics; the last daemon, vm (process 5078), ended 18 "
        "minutes ago");
}
