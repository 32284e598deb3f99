#include "plugin/traced.hpp"

#include <catch2/catch_test_macros.hpp>

#include "base/text.hpp"
#include "event/headers.hpp"
#include "plugin/call.hpp"

using namespace inboxd;
using namespace inboxd::plugin;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

const std::string sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string not_sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// Notes which traceparent a plugin is told for each event.
class Asking final : public Instance {
 public:
  Asking(std::vector<std::string>& told, std::vector<std::string>& states) : told_{told}, states_{states} {}
  std::vector<Verdict> handle(std::span<const Delivered> events, const Cancellation& cancellation,
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
    return std::vector<Verdict>(events.size());
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

/// A handler with SQL that does without payloads; notes which of its two functions is called, and with what.
class Writing final : public Instance {
 public:
  explicit Writing(std::vector<const void*>& called) : called_{called} {}
  Needs needs() const override { return {true, true}; }
  std::vector<Verdict> handle(std::span<const Delivered> events, const Cancellation&, Clock::time_point) override {
    called_.push_back(nullptr);
    return std::vector<Verdict>(events.size());
  }
  std::vector<Verdict> handle_in(inbox::HandlerSql& sql, std::span<const Delivered> events, const Cancellation&,
                                 Clock::time_point, std::unique_ptr<Aftermath>&) override {
    called_.push_back(&sql);
    for (const Delivered& event : events) CHECK(event.traceparent.size() == 55);
    return std::vector<Verdict>(events.size());
  }

 private:
  std::vector<const void*>& called_;
};

struct NoSql final : inbox::HandlerSql {
  std::unique_ptr<inbox::SqlResult> execute(const inbox::SqlStatement&) override { return nullptr; }
  std::int32_t savepoint() override { return 0; }
  void release_savepoint(std::int32_t) override {}
  void rollback_to(std::int32_t) override {}
  State state() const override { return State::ready; }
};

}  // namespace

TEST_CASE("a handler with SQL is called in its transaction, with the headers that say what is traced") {
  Fixture fixture;
  config::Tracing settings;
  settings.endpoint = "http://127.0.0.1:9";
  const auto tracer = std::make_shared<trace::Tracer>(settings, base::random_uuid(), fixture.log);
  std::vector<const void*> called;
  const auto instance = traced(std::make_unique<Writing>(called), {"receipt", "billing"}, tracer);
  CHECK(instance->needs().sql);
  CHECK_FALSE(instance->needs().no_payloads);
  NoSql sql;
  std::unique_ptr<Aftermath> aftermath;
  instance->handle_in(sql, std::span{fixture.delivered}.first(1), fixture.cancellation, Clock::now() + 1h, aftermath);
  CHECK(called == std::vector<const void*>{&sql});
  CHECK(aftermath);  // its span waits for the transaction's end
}

TEST_CASE("without traces of the daemon's own a handler is told what the producer wrote") {
  Fixture fixture;
  Asking asking{fixture.told, fixture.states};
  asking.handle(fixture.delivered, fixture.cancellation, Clock::now() + 1h);
  CHECK(fixture.told == std::vector<std::string>{sampled, not_sampled, "none"});
  CHECK(fixture.states == std::vector<std::string>{"a=1", "a=1", "none"});
}

TEST_CASE("the producer's tracestate goes with no other trace") {
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

TEST_CASE("with them it is told the span of its attempt, for the events that are traced") {
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
