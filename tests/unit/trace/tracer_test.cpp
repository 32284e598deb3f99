#include "trace/tracer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "support/collector.hpp"
#include "support/notify_socket.hpp"
#include "support/test_environment.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::trace;
using namespace std::chrono_literals;
using support::Collector;
using support::wait_until;
using Clock = std::chrono::steady_clock;

namespace {

constexpr Tracer::Pace quick{16, 5ms, 300ms, 5ms, 20ms};

std::vector<Span> spans(int count) {
  std::vector<Span> out(static_cast<std::size_t>(count));
  for (Span& span : out) {
    span.trace = {1};
    span.id = random_span_id();
    span.step = Span::Step::handle;
    span.handler = "test";
  }
  return out;
}

config::Tracing settings_for(const std::string& endpoint, int queue = 256) {
  config::Tracing out;
  out.endpoint = endpoint;
  out.queue = queue;
  return out;
}

std::size_t spans_in(const std::string& body) {
  return nlohmann::json::parse(body).at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").size();
}

struct Fixture {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  base::Uuid instance = base::random_uuid();
};

}  // namespace

TEST_CASE("spans reach the collector in batches, each once, including spans queued at the stop") {
  const Collector collector;
  Fixture fixture;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
  tracer.start();
  for (int i = 0; i < 5; ++i) tracer.add(spans(20));
  wait_until("they have arrived", [&] { return tracer.counts().exported == 100; });
  tracer.add(spans(7));
  tracer.request_stop();
  tracer.join();
  std::size_t arrived = 0;
  for (const auto& request : collector.requests()) {
    CHECK(request.head.starts_with("POST /v1/traces HTTP/1.1\r\n"));
    CHECK(request.head.find("Content-Type: application/json") != std::string::npos);
    CHECK(spans_in(request.body) <= quick.load);
    arrived += spans_in(request.body);
  }
  CHECK(arrived == 107);
  CHECK(tracer.counts().dropped == 0);
}

TEST_CASE("a collector that is away costs spans, but neither time nor memory") {
  Fixture fixture;
  const int port = support::free_port();
  Tracer tracer{settings_for("http://127.0.0.1:" + std::to_string(port)), fixture.instance, fixture.log, quick};
  tracer.start();
  const auto began = Clock::now();
  for (int i = 0; i < 1'000; ++i) tracer.add(spans(10));
  CHECK(Clock::now() - began < 2s);
  CHECK(tracer.counts().dropped >= 10'000 - 256 - 2 * quick.load);
  CHECK(tracer.counts().exported == 0);
  tracer.request_stop();
  tracer.join();
  CHECK(tracer.counts().dropped == 10'000);
}

TEST_CASE("a busy collector gets the same spans again, a collector that refuses them does not") {
  Collector collector;
  collector.answer(503);
  Fixture fixture;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
  tracer.start();
  tracer.add(spans(3));
  wait_until("it is asked again", [&] { return collector.requests().size() >= 3; });
  CHECK(tracer.counts().exported == 0);
  collector.answer(200);
  wait_until("it takes them", [&] { return tracer.counts().exported == 3; });
  CHECK(collector.requests().back().body == collector.requests().front().body);

  collector.answer(400);
  tracer.add(spans(2));
  wait_until("they are given up", [&] { return tracer.counts().refused == 2; });
  collector.answer(200);
  tracer.add(spans(1));
  wait_until("the next one is taken", [&] { return tracer.counts().exported == 4; });
}

TEST_CASE("a collector may refuse a part of the spans, but never more than it got") {
  Collector collector;
  Fixture fixture;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
  tracer.start();
  collector.answer_with(R"({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "no"}})");
  tracer.add(spans(10));
  wait_until("a part is taken", [&] { return tracer.counts().exported == 7; });
  CHECK(tracer.counts().refused == 3);
  std::uint64_t refused = 3;
  for (const char* more : {"4", "\"99999\"", "123456789012345678901234567890"}) {
    collector.answer_with(std::string{R"({"partialSuccess":{"rejectedSpans":)"} + more + "}}");
    tracer.add(spans(4));
    refused += 4;
    wait_until("none is taken", [&] { return tracer.counts().refused == refused; });
  }
  std::uint64_t exported = 7;
  for (const char* nonsense : {R"({"rejectedSpans":-5})", R"({"rejectedSpans":)", "{\"rejectedSpans\"", "\xff\xfe"}) {
    collector.answer_with(nonsense);
    tracer.add(spans(2));
    exported += 2;
    wait_until("all are taken", [&] { return tracer.counts().exported == exported; });
  }
  CHECK(tracer.counts().refused == refused);
  CHECK(tracer.counts().dropped == 0);
}

TEST_CASE("an answer with a length is complete although the connection stays open") {
  Collector collector;
  collector.leave_open();
  Fixture fixture;
  Tracer::Pace patient = quick;
  patient.timeout = 60s;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, patient};
  tracer.start();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    tracer.add(spans(1));
    wait_until("it is taken", [&] { return tracer.counts().exported == i; });
  }
}

TEST_CASE("an answer that is not HTTP, or has no end, is awaited for a request timeout at most") {
  Fixture fixture;
  for (const std::string& said : {std::string{"SSH-2.0-OpenSSH\r\n"}, std::string{}, std::string(3 << 20, 'x'),
                                  std::string{"HTTP/1.1 999999 \r\n\r\n"}}) {
    Collector collector;
    collector.say(said);
    Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
    tracer.start();
    tracer.add(spans(5));
    wait_until("it was asked", [&] { return !collector.requests().empty(); });
    tracer.request_stop();
    tracer.join();
    CHECK(tracer.counts().exported == 0);
    CHECK(tracer.counts().dropped + tracer.counts().refused == 5);
  }
}

TEST_CASE("the queue's free places are the room; spans beyond it count as dropped and are not made") {
  Fixture fixture;
  Tracer tracer{settings_for("http://127.0.0.1:9", 64), fixture.instance, fixture.log, quick};  // not started
  CHECK(tracer.room(0) == 0);
  CHECK(tracer.room(60) == 60);
  tracer.add(spans(60));
  CHECK(tracer.room(10) == 4);
  CHECK(tracer.counts().dropped == 6);
  tracer.add(spans(10));
  CHECK(tracer.room(1) == 0);
  CHECK(tracer.counts().dropped == 13);
}

TEST_CASE("the collector gets the secret; the log shows neither the secret nor the endpoint's path") {
  Fixture fixture;
  const Collector collector;
  auto settings = settings_for(collector.endpoint() + "?key=abracadabra");
  settings.authorization = config::Secret{"Bearer open-sesame"};
  Tracer tracer{settings, fixture.instance, fixture.log, quick};
  tracer.start();
  tracer.add(spans(1));
  wait_until("it arrives", [&] { return tracer.counts().exported == 1; });
  const std::string head = collector.requests()[0].head;
  CHECK(head.starts_with("POST /v1/traces?key=abracadabra HTTP/1.1\r\n"));
  CHECK(head.find("\r\nAuthorization: Bearer open-sesame\r\n") != head.npos);

  const support::NotifySocket journal;
  base::Logger log{base::LogLevel::debug, base::LogFormat::journal, journal.path()};
  settings.endpoint = "http://127.0.0.1:" + std::to_string(support::free_port()) + "/v1/traces?key=abracadabra";
  Tracer failing{settings, fixture.instance, log, quick};
  failing.start();
  failing.add(spans(1));
  const auto told = [&] {
    std::string out;
    for (const std::string& line : journal.lines()) out += line + "\n";
    return out;
  };
  wait_until("it is told", [&] { return told().find("kind=trace.collector_unreachable") != std::string::npos; });
  failing.request_stop();
  failing.join();
  CHECK(told().find("abracadabra") == std::string::npos);
  CHECK(told().find("sesame") == std::string::npos);
}

TEST_CASE("a collector that never answers delays neither senders nor the stop") {
  Collector collector;
  collector.answer(0);
  Fixture fixture;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
  tracer.start();
  tracer.add(spans(300));
  wait_until("it was asked", [&] { return !collector.requests().empty(); });
  const auto began = Clock::now();
  tracer.request_stop();
  tracer.join();
  CHECK(Clock::now() - began < 3s);
  CHECK(tracer.counts().dropped == 300);
}

TEST_CASE("a slow collector gets only the spans that it accepts before the stop ends") {
  Collector collector;
  collector.answer(200, 200ms);
  Fixture fixture;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, quick};
  tracer.start();
  tracer.add(spans(256));
  wait_until("it was asked", [&] { return !collector.requests().empty(); });
  const auto began = Clock::now();
  tracer.request_stop();
  tracer.join();
  CHECK(Clock::now() - began < 2s);
  CHECK(tracer.counts().dropped >= 100);
  CHECK(tracer.counts().dropped + tracer.counts().exported == 256);
}

TEST_CASE("no request lasts beyond the daemon's end") {
  Collector collector;
  collector.answer(0);
  Fixture fixture;
  Tracer::Pace patient = quick;
  patient.timeout = 60s;
  Tracer tracer{settings_for(collector.endpoint()), fixture.instance, fixture.log, patient};
  const auto began = Clock::now();
  tracer.end_by(began + 100ms);
  tracer.start();
  tracer.add(spans(3));
  tracer.request_stop();
  tracer.join();
  CHECK(Clock::now() - began < 2s);
  CHECK(tracer.counts().dropped == 3);
}

TEST_CASE("without an endpoint there is no thread and nothing is kept") {
  Fixture fixture;
  Tracer tracer{config::Tracing{}, fixture.instance, fixture.log, quick};
  tracer.start();
  tracer.request_stop();
  tracer.join();
  CHECK(tracer.settings().is_off());
}

TEST_CASE("the path is /v1/traces if the endpoint has none") {
  const Collector collector;
  Fixture fixture;
  for (const char* const end : {"", "/", "/custom/path"}) {
    Tracer tracer{settings_for("http://127.0.0.1:" + std::to_string(collector.port()) + end), fixture.instance,
                  fixture.log, quick};
    tracer.start();
    tracer.add(spans(1));
    wait_until("it arrives", [&] { return tracer.counts().exported == 1; });
  }
  CHECK(collector.requests()[0].head.starts_with("POST /v1/traces "));
  CHECK(collector.requests()[1].head.starts_with("POST /v1/traces "));
  CHECK(collector.requests()[2].head.starts_with("POST /custom/path "));
}
