// The shipped handler `kafka` while brokers do not answer, and across a crash of the daemon.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "process/kafka/publish_fixture.hpp"
#include "process/support/keyed_events.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The handler reaches the brokers through a proxy, the consumer does not.
struct ProxiedFixture : PublishFixture {
  ProxiedFixture() {
    set("properties",
        "{bootstrap.servers: '127.0.0.1:" + std::to_string(proxy.port()) + "', reconnect.backoff.max.ms: 200}");
  }
  std::int64_t done() { return counts().done; }
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
};

std::set<std::string> ids_of(const std::vector<ReadRecord>& records) {
  std::set<std::string> out;
  for (const auto& record : records) out.insert(record.header("ce_id"));
  return out;
}

}  // namespace

TEST_CASE("an event is done only after the brokers have acknowledged its record") {
  ProxiedFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  fixture.proxy.freeze(true);
  fixture.produce(10);
  fixture.wait_stored(20);
  holds_for("none is done without an acknowledgement", milliseconds{1'000}, [&] { return fixture.done() == 10; });
  fixture.proxy.freeze(false);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.written().size() == 20);
}

TEST_CASE("while brokers are away no attempt is counted, and all is written once they return") {
  ProxiedFixture fixture;
  fixture.config.handlers[0].more = {"deadline: 2s", "retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  for (int i = 0; i < 2; ++i) {
    fixture.proxy.refuse(true);
    fixture.proxy.cut();
    fixture.produce(50);
    daemon->wait_log("the brokers do not answer", i + 1);
    CHECK(fixture.done() == 10 + 50 * i);
    fixture.proxy.refuse(false);
    CHECK(fixture.wait_done().is_perfect());
  }
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(fixture.written().size() >= 110);
}

TEST_CASE("a handler whose brokers are silent counts as away, also while its calls run") {
  ProxiedFixture fixture;
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: 127.0.0.1:" + std::to_string(port);
  fixture.config.handlers[0].more = {"deadline: 2s"};
  const auto daemon = fixture.start();
  const auto away = [&] { return gauge(port, "inboxd_away{handler=\"" + fixture.config.handlers[0].name + "\"}"); };
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(away() == 0);
  fixture.proxy.freeze(true);
  fixture.produce(10);
  wait_until("it is away", [&] { return away() == 1; });
  holds_for("it stays away", milliseconds{5'000}, [&] { return away() == 1; });
  fixture.proxy.cut();
  fixture.proxy.freeze(false);
  CHECK(fixture.wait_done().is_perfect());
  wait_until("it is back", [&] { return away() == 0; });
}

TEST_CASE("brokers that are silent past the deadline cost no attempt, and the order of keys is kept") {
  ProxiedFixture fixture;
  fixture.config.handlers[0].more = {"deadline: 1s", "retry: {max_attempts: 1}", "mode: sequential"};
  KeyedEvents events{fixture};
  const auto daemon = fixture.start();
  for (int round = 0; round < 4; ++round) {
    events.produce(200, [](int i) { return KeyedEvents::Made{"key" + std::to_string(i % 5)}; });
    fixture.proxy.freeze(true);
    holds_for("the daemon lives", milliseconds{1'500}, [&] { return daemon->process().is_running(); });
    fixture.proxy.cut();
    fixture.proxy.freeze(false);
  }
  fixture.database.wait_for("all have left", "select count(*) from inbox.delivery", 0);
  CHECK(fixture.database.text("select coalesce(string_agg(error_class || message, ', '), '') from inbox.failures") ==
        "");
  CHECK(fixture.wait_done().is_perfect());
  const auto records = fixture.written();
  CHECK(ids_of(records) == std::set<std::string>{events.ids().begin(), events.ids().end()});
  CHECK(PublishFixture::out_of_order(records) == "");
}

TEST_CASE("silent brokers delay the stop by no more than the drain", "[alone]") {
  ProxiedFixture fixture;
  fixture.config.sections["shutdown"] = "drain: 1s";
  const auto daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
  fixture.proxy.freeze(true);
  fixture.produce(10);
  fixture.wait_stored(20);
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(monotonic_ms() - began < 4'000);
  fixture.proxy.cut();
  fixture.proxy.freeze(false);
  const auto next = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("when the daemon is killed, each event is written at least once under its id, and keys keep their order") {
  PublishFixture fixture{4};
  fixture.config.handlers[0].more = {"mode: sequential", "events_per_call: 50", "concurrency: 4"};
  KeyedEvents events{fixture};
  const auto make = [](int i) { return KeyedEvents::Made{"key" + std::to_string(i % 20)}; };
  const auto written = [&] {
    std::int64_t out = 0;
    for (const auto& [partition, end] : fixture.kafka.ends(fixture.target)) out += end;
    return out;
  };
  auto daemon = fixture.start();
  for (int round = 0; round < 3; ++round) {
    const auto before = written();
    events.produce(4'000, make);
    wait_until("some are written", [&] { return written() > before + 200; });
    daemon->kill();
    daemon = fixture.start();
  }
  CHECK(fixture.wait_done().is_perfect());
  const auto records = fixture.written();
  const auto ids = ids_of(records);
  CHECK(ids == std::set<std::string>{events.ids().begin(), events.ids().end()});
  CHECK(PublishFixture::out_of_order(records) == "");
}
