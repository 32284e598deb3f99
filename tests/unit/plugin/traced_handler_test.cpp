#include "plugin/traced_handler.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "event/headers.hpp"
#include "plugin/call.hpp"
#include "plugin/publish_spans.hpp"
#include "support/collector.hpp"
#include "support/spans.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::plugin;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

const std::string sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string not_sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// Records the trace context that a plugin gets for each event.
class Asking final : public Instance {
 public:
  Asking(std::vector<std::string>& told, std::vector<std::string>& states) : told_{told}, states_{states} {}
  std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                     Clock::time_point deadline) override {
    Call call{events, cancellation, deadline};
    const auto* const part = static_cast<const inboxd_trace*>(call.face()->extension(call.face(), INBOXD_TRACE));
    for (std::size_t i = 0; i < events.size(); ++i) {
      const inboxd_bytes bytes = part->traceparent(call.face(), i);
      told_.emplace_back(bytes.data == nullptr ? std::string{"none"} : std::string{bytes.data, bytes.size});
    }
    CHECK(part->traceparent(call.face(), events.size()).data == nullptr);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const inboxd_bytes bytes = part->tracestate(call.face(), i);
      states_.emplace_back(bytes.data == nullptr ? std::string{"none"} : std::string{bytes.data, bytes.size});
    }
    CHECK(part->tracestate(call.face(), events.size()).data == nullptr);
    return std::vector<event::Verdict>(events.size());
  }

 private:
  std::vector<std::string>& told_;
  std::vector<std::string>& states_;
};

struct Fixture {
  Fixture() {
    for (const std::string& traceparent : {sampled, not_sampled, std::string{}}) {
      headers.push_back(
          traceparent.empty() ? "" : event::pack_headers({{"traceparent", traceparent}, {"tracestate", "a=1"}}));
    }
    for (const std::string& packed : headers) {
      event::Event& event = events.emplace_back();
      event.event_id = base::random_uuid();
      if (!packed.empty()) event.headers = packed;
    }
    for (const event::Event& event : events) delivered.push_back({&event, "orders", 0, 1});
  }
  std::vector<std::string> headers;
  std::vector<event::Event> events;
  std::vector<Delivered> delivered;
  Cancellation cancellation;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  std::vector<std::string> told, states;
};

/// A handler with SQL and without payloads. Records for each call its transaction; null: called without one.
class Writing final : public Instance {
 public:
  explicit Writing(std::vector<const void*>& called) : called_{called} {}
  Needs needs() const override { return {true, true}; }
  std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation&,
                                     Clock::time_point) override {
    called_.push_back(nullptr);
    return std::vector<event::Verdict>(events.size());
  }
  std::vector<event::Verdict> handle_in(transaction::HandlerSql& sql, std::span<const Delivered> events,
                                        const Cancellation&, Clock::time_point,
                                        std::unique_ptr<PendingSpans>&) override {
    called_.push_back(&sql);
    for (const Delivered& event : events) CHECK(event.traceparent.size() == 55);
    return std::vector<event::Verdict>(events.size());
  }

 private:
  std::vector<const void*>& called_;
};

/// Publishes four messages for the first event: the first is sent, the second refused, the third refused without an
/// error class, the last left unfinished. Also tries the second event and a missing event. Works with SQL, too.
class Publishing final : public Instance {
 public:
  explicit Publishing(std::vector<std::string>& told) : told_{told} {}
  std::vector<event::Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
                                     Clock::time_point deadline) override {
    Call call{events, cancellation, deadline};
    const auto* const part = static_cast<const inboxd_trace*>(call.face()->extension(call.face(), INBOXD_TRACE));
    const auto begin = [&](std::size_t index, const char* destination) {
      const inboxd_publish_span* const span =
          part->begin_publish(call.face(), index, inboxd_text("kafka"), inboxd_text(destination));
      told_.push_back(span == nullptr ? "none" : std::string{span->traceparent.data, span->traceparent.size});
      return span;
    };
    const inboxd_publish_span* const taken = begin(0, "receipts");
    const inboxd_publish_span* const refused = begin(0, "audit");
    part->end_publish(call.face(), refused, false, inboxd_text("too large"));
    part->end_publish(call.face(), taken, true, inboxd_text(nullptr));
    const inboxd_publish_span* const unclear = begin(0, "unclear");
    part->end_publish(call.face(), taken, false, inboxd_text("twice"));
    part->end_publish(call.face(), nullptr, false, inboxd_text("nobody"));
    const inboxd_publish_span stranger{};
    part->end_publish(call.face(), &stranger, false, inboxd_text("nobody"));
    part->end_publish(call.face(), unclear, false, inboxd_text(nullptr));
    begin(0, "left");
    begin(1, "untraced");
    begin(events.size(), "beyond");
    return std::vector<event::Verdict>(events.size());
  }
  std::vector<event::Verdict> handle_in(transaction::HandlerSql&, std::span<const Delivered> events,
                                        const Cancellation& cancellation, Clock::time_point deadline,
                                        std::unique_ptr<PendingSpans>&) override {
    return handle(events, cancellation, deadline);
  }

 private:
  std::vector<std::string>& told_;
};

/// A tracer with a collector of its own.
struct Sent {
  Sent(const config::Tracing& wanted, base::Logger& log) : settings{wanted} {
    settings.endpoint = collector.endpoint();
    trace::Tracer::Pace pace;
    pace.gather = 10ms;
    tracer = std::make_shared<trace::Tracer>(settings, base::random_uuid(), log, pace);
    tracer->start();
  }
  std::vector<nlohmann::json> wait(std::size_t count) {
    support::wait_until("the spans have arrived", [&] { return tracer->counts().exported >= count; });
    return support::spans_of(collector);
  }
  support::Collector collector;
  config::Tracing settings;
  std::shared_ptr<trace::Tracer> tracer;
};

struct NoSql final : transaction::HandlerSql {
  std::unique_ptr<transaction::SqlResult> execute(const transaction::SqlStatement&) override { return nullptr; }
  std::int32_t savepoint() override { return 0; }
  void release_savepoint(std::int32_t) override {}
  void rollback_to(std::int32_t) override {}
  State state() const override { return State::ready; }
};

}  // namespace

TEST_CASE("a traced handler with SQL is called in its transaction and gets headers") {
  Fixture fixture;
  config::Tracing settings;
  settings.endpoint = "http://127.0.0.1:9";
  const auto tracer = std::make_shared<trace::Tracer>(settings, base::random_uuid(), fixture.log);
  std::vector<const void*> called;
  const auto instance = traced(std::make_unique<Writing>(called), {"receipt", "billing"}, tracer);
  CHECK(instance->needs().sql);
  CHECK_FALSE(instance->needs().no_payloads);
  NoSql sql;
  std::unique_ptr<PendingSpans> pending_spans;
  instance->handle_in(sql, std::span{fixture.delivered}.first(1), fixture.cancellation, Clock::now() + 1h,
                      pending_spans);
  CHECK(called == std::vector<const void*>{&sql});
  CHECK(pending_spans);  // its span waits for the transaction's end
}

TEST_CASE("without daemon traces a handler gets the producer's trace context") {
  Fixture fixture;
  Asking asking{fixture.told, fixture.states};
  asking.handle(fixture.delivered, fixture.cancellation, Clock::now() + 1h);
  CHECK(fixture.told == std::vector<std::string>{sampled, not_sampled, "none"});
  CHECK(fixture.states == std::vector<std::string>{"a=1", "a=1", "none"});
}

TEST_CASE("the producer's tracestate accompanies only the producer's trace") {
  Fixture fixture;
  config::Tracing settings;
  settings.endpoint = "http://127.0.0.1:9";
  settings.sample = 1;
  const auto tracer = std::make_shared<trace::Tracer>(settings, base::random_uuid(), fixture.log);
  const auto instance = traced(std::make_unique<Asking>(fixture.told, fixture.states), {"receipt", "billing"}, tracer);
  instance->handle(fixture.delivered, fixture.cancellation, Clock::now() + 1h);
  CHECK(fixture.told[0].substr(3, 32) ==
        base::hex({reinterpret_cast<const char*>(fixture.events[0].event_id.bytes.data()), 16}));
  CHECK(fixture.states == std::vector<std::string>{"none", "a=1", "none"});
}

TEST_CASE("with daemon traces a handler gets its attempt's span, for sampled events only") {
  Fixture fixture;
  config::Tracing settings;
  settings.endpoint = "http://127.0.0.1:9";
  settings.relation = config::TraceRelation::parent;
  const auto tracer = std::make_shared<trace::Tracer>(settings, base::random_uuid(),
                                                      fixture.log);  // not started: spans stay in its queue
  const auto instance = traced(std::make_unique<Asking>(fixture.told, fixture.states), {"receipt", "billing"}, tracer);
  CHECK(instance->handle(fixture.delivered, fixture.cancellation, Clock::now() + 1h).size() == 3);
  REQUIRE(fixture.told.size() == 3);
  CHECK(fixture.told[0].starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
  CHECK(fixture.told[0].ends_with("-01"));
  CHECK(fixture.told[0] != sampled);
  CHECK(fixture.told[1] == not_sampled);
  CHECK(fixture.told[2] == "none");
  CHECK(fixture.states == std::vector<std::string>{"a=1", "a=1", "none"});
  instance->handle(fixture.delivered, fixture.cancellation, Clock::now() + 1h);
  CHECK(fixture.told[3] != fixture.told[0]);  // each attempt has a span of its own
}

TEST_CASE("each published message has a span under its attempt, and a context to send with it") {
  Fixture fixture;
  config::Tracing settings;
  settings.sample = 1;
  Sent sent{settings, fixture.log};
  const auto instance = traced(std::make_unique<Publishing>(fixture.told), {"receipt", "billing"}, sent.tracer);
  instance->handle(std::span{fixture.delivered}.first(2), fixture.cancellation, Clock::now() + 1h);
  REQUIRE(fixture.told.size() == 6);
  CHECK(fixture.told[4] == "none");  // the producer did not sample it
  CHECK(fixture.told[5] == "none");  // the call has no such event
  const auto spans = sent.wait(5);
  CHECK(spans.size() == 5);
  const auto attempt = support::named(spans, "handle receipt").at(0);
  const auto check = [&](const std::string& name, const std::string& traceparent, const std::string& error) {
    CAPTURE(name);
    const auto span = support::named(spans, "publish " + name).at(0);
    CHECK(traceparent ==
          "00-" + span.at("traceId").get<std::string>() + "-" + span.at("spanId").get<std::string>() + "-01");
    CHECK(span.at("traceId") == attempt.at("traceId"));
    CHECK(span.at("parentSpanId") == attempt.at("spanId"));
    CHECK(span.at("kind") == 4);
    CHECK(std::stoll(span.at("endTimeUnixNano").get<std::string>()) <=
          std::stoll(attempt.at("endTimeUnixNano").get<std::string>()));
    CHECK(support::attribute(span, "messaging.system") == "kafka");
    CHECK(support::attribute(span, "messaging.operation.type") == "send");
    CHECK(support::attribute(span, "messaging.destination.name") == name);
    CHECK(support::attribute(span, "inboxd.event_id") == fixture.events[0].event_id.text());
    CHECK(support::attribute(span, "error.type") == error);
    CHECK(span.contains("status") == !error.empty());
  };
  check("receipts", fixture.told[0], "");
  check("audit", fixture.told[1], "too_large");
  check("unclear", fixture.told[2], "_OTHER");
  check("left", fixture.told[3], "abandoned");
}

TEST_CASE("a published message keeps its span if the call's transaction is undone") {
  Fixture fixture;
  config::Tracing settings;
  settings.sample = 1;
  Sent sent{settings, fixture.log};
  const auto instance = traced(std::make_unique<Publishing>(fixture.told), {"receipt", "billing"}, sent.tracer);
  NoSql sql;
  std::unique_ptr<PendingSpans> pending_spans;
  instance->handle_in(sql, std::span{fixture.delivered}.first(1), fixture.cancellation, Clock::now() + 1h,
                      pending_spans);
  CHECK(support::named(sent.wait(4), "publish receipts").size() == 1);  // before the transaction has ended
  pending_spans.reset();
  const auto spans = sent.wait(5);
  CHECK(support::attribute(support::named(spans, "handle receipt").at(0), "inboxd.outcome") == "undone");
  CHECK(support::attribute(support::named(spans, "publish receipts").at(0), "error.type").empty());
}

TEST_CASE("a call has a limited number of publish spans, and hostile names are made safe") {
  Fixture fixture;
  Sent sent{{}, fixture.log};
  Delivered event = fixture.delivered[0];
  event.traceparent = sampled;
  const std::string handler = "receipt";
  const std::string hostile = "\xFF\"}]" + std::string(1'000, 'x');
  {
    PublishSpans spans{*sent.tracer, handler};
    for (int i = 0; i < INBOXD_PUBLISH_SPANS; ++i) CHECK(spans.begin(event, "", i == 0 ? hostile : "") != nullptr);
    CHECK(spans.begin(event, "kafka", "receipts") == nullptr);
    CHECK(sent.tracer->counts().dropped == 1);
  }
  const auto spans = sent.wait(INBOXD_PUBLISH_SPANS);
  REQUIRE(spans.size() == INBOXD_PUBLISH_SPANS);
  CHECK(spans[0].at("name") == "publish \xEF\xBF\xBD\"}]" + std::string(251, 'x'));
  CHECK(spans[1].at("name") == "publish");
  CHECK(support::attribute(spans[1], "messaging.system").empty());
}
