#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "contract/plugin/support.hpp"
#include "event/headers.hpp"
#include "support/wait.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using contract::Cancellation;
using contract::Clock;
using contract::DeliveredEvents;
using contract::Kind;
using contract::LoadAttempt;
using contract::Verdict;
using namespace std::chrono_literals;

namespace {

void check_failed(const Verdict& verdict, const std::string& error_class, const std::string& part_of_message) {
  CHECK(verdict.kind == Kind::retry);
  CHECK_FALSE(verdict.delay.has_value());
  CHECK(verdict.error_class == error_class);
  CHECK_THAT(verdict.message, ContainsSubstring(part_of_message));
}

}  // namespace

TEST_CASE("a handler sees everything of an event, and null is not empty") {
  LoadAttempt attempt{"echo", {{"word", "two words"}, {"number", "-42"}, {"flag", "true"}, {"pause", "5m"}}};
  DeliveredEvents batch{{"key 1"}};
  const std::string headers = inboxd::event::pack_headers({{"a", "1"}, {"b", std::nullopt}, {"a", ""}});
  auto& event = batch.event(0);
  event.event_id = *inboxd::base::parse_uuid("0190b6f0-1234-7abc-8def-0123456789ab");
  event.source_id = "order-1";
  event.source = "/shop";
  event.subject = "";
  event.payload = std::nullopt;
  event.headers = headers;
  event.occurred_at = -5;
  event.received_at = 1'700'000'000'000'000;
  batch.delivered(0).attempt = 7;

  const auto verdicts = batch.handled_by(attempt.instance());
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].kind == Kind::dead);
  CHECK(verdicts[0].error_class == "echo");
  CHECK(verdicts[0].message ==
        "handler=under-test word=two words number=-42 flag=true pause=300000"
        " id=0190b6f0-1234-7abc-8def-0123456789ab source_id=order-1 type='OrderPlaced' source='/shop' subject=''"
        " key='key 1' payload=null at=orders/3/100 attempt=7 occurred=-5 kafka=none received=1700000000000000"
        " headers=[a:'1',b:null,a:''] a='' in_time=yes sql=no trace=null/null");
}

TEST_CASE("missing fields of an event are null, and its id replaces a missing source_id") {
  LoadAttempt attempt{"echo"};
  DeliveredEvents batch{{""}};
  batch.event(0).key = std::nullopt;
  batch.event(0).payload = std::string_view{};
  const auto verdicts = batch.handled_by(attempt.instance());
  CHECK_THAT(verdicts.at(0).message,
             ContainsSubstring("source_id=00000000-0000-0000-0000-000000000000 type='OrderPlaced' source=null"
                               " subject=null key=null payload='' at=") &&
                 ContainsSubstring("received=none headers=[] a=null"));
}

TEST_CASE("a handler gets an event's trace context: the daemon's before the producer's, and no invalid context") {
  LoadAttempt attempt{"echo"};
  const std::string producers = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string ours = "00-0190b6f012347abc8def0123456789ab-00f067aa0ba902b8-01";
  const std::string later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto context = [&](const std::vector<inboxd::event::Header>& headers, const std::string& own = "") {
    DeliveredEvents batch{{"key"}};
    const std::string packed = inboxd::event::pack_headers(headers);
    batch.event(0).headers = packed;
    batch.delivered(0).traceparent = own;
    const std::string message = batch.handled_by(attempt.instance()).at(0).message;
    return message.substr(message.find(" trace=") + 7);
  };
  CHECK(context({{"traceparent", producers}, {"tracestate", "a=1"}}) == "'" + producers + "'/'a=1'");
  CHECK(context({{"traceparent", producers}, {"tracestate", "a=1"}}, ours) == "'" + ours + "'/null");
  CHECK(context({}, ours) == "'" + ours + "'/null");
  CHECK(context({{"traceparent", producers + "\r\nX-Admin: yes"}}) == "null/null");
  CHECK(context({{"traceparent", later + "-\r\nX-Admin: yes"}}) == "'" + later + "'/null");
  CHECK(context({{"traceparent", std::string(1'000, '0')}}) == "null/null");
  CHECK(context({{"traceparent", std::nullopt}}) == "null/null");
}

TEST_CASE("a plugin in C can require the trace context") {
  const auto inspected = contract::inspect(contract::test_plugin("needs_trace"));
  REQUIRE(inspected.ok());
  CHECK(inspected.value().extensions == std::vector<std::string>{"inboxd.trace/1"});
  LoadAttempt attempt{"needs_trace"};
  DeliveredEvents batch{{"first", "second"}};
  batch.delivered(1).traceparent = "00-0190b6f012347abc8def0123456789ab-00f067aa0ba902b8-01";
  const auto verdicts = batch.handled_by(attempt.instance());
  CHECK(verdicts.at(0).message.empty());
  CHECK(verdicts.at(1).message == batch.delivered(1).traceparent);
}

TEST_CASE("each event of a call has its own verdict, in order") {
  LoadAttempt attempt{"echo"};
  DeliveredEvents batch{{"done", "retry", "x", "done", "skip", "away", "pause"}};
  const auto verdicts = batch.handled_by(attempt.instance());
  REQUIRE(verdicts.size() == 7);
  CHECK(verdicts[4].kind == Kind::skipped);
  CHECK(verdicts[5].kind == Kind::away);
  CHECK(verdicts[5].delay == 700ms);
  CHECK(verdicts[6].kind == Kind::pause);
  CHECK(verdicts[6].message == "it has gone");
  CHECK(verdicts[0].kind == Kind::done);
  CHECK(verdicts[1].kind == Kind::retry);
  CHECK(verdicts[1].delay == 1500ms);
  CHECK(verdicts[1].error_class == "later.please");
  CHECK(verdicts[1].message == "later");
  CHECK(verdicts[2].kind == Kind::dead);
  CHECK_THAT(verdicts[2].message, ContainsSubstring("at=orders/3/102"));
  CHECK(verdicts[3].kind == Kind::done);
}

TEST_CASE("a handler's log message carries its name, on one line") {
  const contract::StderrCapture taken;
  LoadAttempt attempt{"echo"};
  DeliveredEvents{{"x"}}.handled_by(attempt.instance());
  CHECK_THAT(taken.text(),
             ContainsSubstring(
                 "info handler: saw 00000000-0000-0000-0000-000000000000 handler=under-test kind=handler.log\n"));
}

// fault: handler throws
TEST_CASE("an exception in a handler retries its event alone") {
  LoadAttempt attempt{"throws"};
  const auto verdicts = DeliveredEvents{{"fine", "standard", "odd", "fine"}}.handled_by(attempt.instance());
  REQUIRE(verdicts.size() == 4);
  CHECK(verdicts[0].kind == Kind::done);
  check_failed(verdicts[1], "exception", "the ledger does not balance");
  check_failed(verdicts[2], "exception", "not a std::exception");
  CHECK(verdicts[3].kind == Kind::done);
}

// fault: handler throws
TEST_CASE("an exception in a batch retries the events without a verdict") {
  LoadAttempt attempt{"throws", {{"when", "batch"}}};
  const auto verdicts = DeliveredEvents{{"a", "b", "c"}}.handled_by(attempt.instance());
  CHECK(verdicts.at(0).kind == Kind::done);
  check_failed(verdicts.at(1), "exception", "the batch fell apart");
  check_failed(verdicts.at(2), "exception", "the batch fell apart");
}

// fault: handler throws
TEST_CASE("an exception that crosses the C boundary is stopped there") {
  LoadAttempt attempt{"throws_across"};
  const auto standard = DeliveredEvents{{"a", "b"}}.handled_by(attempt.instance());
  CHECK(standard.at(0).kind == Kind::done);
  check_failed(standard.at(1), "exception", "across the boundary");
  check_failed(DeliveredEvents({"odd", "b"}).handled_by(attempt.instance()).at(1), "exception", "not a std::exception");
}

TEST_CASE("an invalid verdict is a retry with that reason") {
  LoadAttempt attempt{"nonsense"};
  const auto verdicts =
      DeliveredEvents{{"outcome", "zero", "delay", "centuries", "null", "short", "nothing"}}.handled_by(
          attempt.instance());
  REQUIRE(verdicts.size() == 7);
  check_failed(verdicts[0], "bad-verdict", "the outcome is 99");
  check_failed(verdicts[1], "bad-verdict", "the outcome is 0");
  check_failed(verdicts[2], "bad-verdict", "the delay is -5 ms");
  check_failed(verdicts[3], "bad-verdict", "it must be -1 or 0 to 31622400000");
  check_failed(verdicts[4], "bad-verdict", "it is NULL");
  check_failed(verdicts[5], "bad-verdict", "struct_size is 8");
  check_failed(verdicts[6], "no-verdict", "returned without a verdict for this event");
}

TEST_CASE("a verdict for an event outside the call changes nothing and is reported") {
  LoadAttempt attempt{"nonsense"};
  const auto verdicts = DeliveredEvents{{"stray", "twice"}}.handled_by(attempt.instance());
  check_failed(verdicts.at(0), "no-verdict", "it gave one for index 1000, but the call has 2 events");
  CHECK(verdicts.at(1).kind == Kind::done);
}

TEST_CASE("a verdict's texts are cleaned for the database") {
  LoadAttempt attempt{"nonsense"};
  const auto verdicts = DeliveredEvents{{"garbage"}}.handled_by(attempt.instance());
  CHECK(verdicts.at(0).error_class == "____");
  CHECK(verdicts.at(0).message == "\\xff\\x00\\n!");
}

// fault: handler loops for ever
TEST_CASE("a hanging handler sees its deadline pass, and events that it did not reach are cancelled") {
  LoadAttempt attempt{"hangs"};
  const auto start = Clock::now();
  const auto verdicts = DeliveredEvents{{"a", "b"}}.handled_by(attempt.instance(), 50ms);
  CHECK(Clock::now() - start >= 50ms);
  CHECK(verdicts.at(0).kind == Kind::done);
  check_failed(verdicts.at(1), "cancelled", "cancelled before the handler reached this event");
}

TEST_CASE("a hanging handler sees its cancellation") {
  LoadAttempt attempt{"hangs"};
  Cancellation cancellation;
  std::vector<Verdict> verdicts;
  std::thread worker{[&] { verdicts = DeliveredEvents{{"a", "b"}}.handled_by(attempt.instance(), cancellation); }};
  cancellation.requested = true;
  worker.join();
  check_failed(verdicts.at(1), "cancelled", "");
}

TEST_CASE("a handler that ignores its cancellation keeps its thread until it returns, and its verdict counts") {
  const contract::TempFolder folder;
  LoadAttempt attempt{"ignores_cancellation",
                      {{"seen", (folder / "seen").string()}, {"release", (folder / "release").string()}}};
  Cancellation cancellation;
  cancellation.requested = true;
  std::vector<Verdict> verdicts;
  std::atomic<bool> returned{false};
  std::thread worker{[&] {
    verdicts = DeliveredEvents{{"a", "b"}}.handled_by(attempt.instance(), cancellation);
    returned = true;
  }};
  CHECK(inboxd::support::eventually([&] { return contract::fs::exists(folder / "seen"); }));
  CHECK_FALSE(returned);
  std::ofstream{folder / "release"}.put('\n');
  worker.join();
  CHECK(verdicts.at(0).kind == Kind::done);
  check_failed(verdicts.at(1), "cancelled", "");
}

TEST_CASE("several workers can call the same instance at the same time") {
  LoadAttempt attempt{"echo"};
  std::atomic<int> right{0};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto verdicts = DeliveredEvents{{"done", "retry"}}.handled_by(attempt.instance());
        right += verdicts[0].kind == Kind::done && verdicts[1].kind == Kind::retry ? 1 : 0;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(right == 800);
}
