// Brokers that stop and return, unreadable topics.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

struct DeniedAccess {
  using Deny = void (Kafka::*)(const std::string&, bool);
  DeniedAccess(Kafka& brokers, Deny how, std::string what) : kafka{brokers}, deny{how}, name{std::move(what)} {
    (kafka.*deny)(name, true);
  }
  ~DeniedAccess() { (kafka.*deny)(name, false); }
  Kafka& kafka;
  const Deny deny;
  const std::string name;
};

}  // namespace

// fault: one topic unauthorised
// fault: a topic that cannot be resolved
TEST_CASE("a topic that is unreadable or missing delays no other, and its reason is shown until it can be read") {
  DaemonFixture fixture{2};
  const auto denied = fixture.kafka.create_topic(1);
  fixture.config.topics.push_back("{name: " + denied + "}");
  const auto absent = random_name("absent");
  fixture.config.topics.push_back("{name: " + absent + "}");
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const std::string id = "3c000000-0000-4000-8000-000000000001";
  fixture.kafka.produce({event_message(denied, id)});
  const auto reason = [&] {
    return fixture.database.number("select count(*) from inbox.lag where topic = '" + denied +
                                   "' and halted_reason like 'not readable%authorization%'");
  };
  const auto halted = [&] { return gauge(port, "inboxd_partition_halted{topic=\"" + denied + "\",partition=\"0\"}"); };
  std::unique_ptr<DaemonProcess> daemon;
  {
    const DeniedAccess rule{fixture.kafka, &Kafka::deny_reading, denied};
    daemon = fixture.start();
    fixture.produce(100);
    CHECK(fixture.wait_done().is_perfect());
    wait_until("the topic is halted with the reason", [&] { return reason() == 1; });
    wait_until("metrics say so", [&] { return halted() == 1; });
    holds_for("it is tried again, and the reason stays", milliseconds{12'000},
              [&] { return reason() == 1 && halted() == 1; });
    CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("not readable"));
    fixture.produce(20);
    CHECK(fixture.wait_done().is_perfect());
  }
  fixture.note({id});
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return reason() == 0; });
  wait_until("metrics say so, too", [&] { return halted() == 0; });
  wait_until("status names the topic that does not exist", [&] {
    return command(fixture.config, {"status"}).out.find("the brokers know no topic " + absent) != std::string::npos;
  });
  daemon->wait_log("kind=consumer.unknown_topic");
  wait_until("metrics count it",
             [&] { return get(port, "/metrics").body.find("\ninboxd_topics_unknown 1\n") != std::string::npos; });
}

TEST_CASE("for a misspelt topic, log and status suggest the nearest name") {
  DaemonFixture fixture{1};
  const auto misspelt = fixture.topic + "s";
  fixture.config.topics.push_back("{name: " + misspelt + "}");
  const auto daemon = fixture.start();
  daemon->wait_log("did you mean " + fixture.topic + "?");
  wait_until("status does", [&] {
    return command(fixture.config, {"status"}).out.find(misspelt + " (did you mean " + fixture.topic + "?)") !=
           std::string::npos;
  });
}

TEST_CASE("a topic that is invisible at the first start starts once it is visible; others do not wait") {
  DaemonFixture fixture{1};
  const auto hidden = fixture.kafka.create_topic(1);
  fixture.kafka.produce({event_message(hidden, "4c000000-0000-4000-8000-000000000001")});
  const auto later = random_name("later");
  fixture.config.topics = {"{name: " + hidden + ", start: end}", "{name: " + fixture.topic + "}",
                           "{name: " + later + "}"};
  const auto started = [&](const std::string& topic) {
    return fixture.database.number("select count(*) from inbox.topic_start where entry = '" + topic + "'");
  };
  std::unique_ptr<DaemonProcess> daemon;
  {
    const DeniedAccess rule{fixture.kafka, &Kafka::deny_seeing, hidden};
    daemon = fixture.start();
    fixture.produce(20);
    CHECK(fixture.wait_done().is_perfect());
    wait_until("the others have had their first start", [&] { return started(later) == 1; });
    holds_for("it has not", milliseconds{2'500}, [&] { return started(hidden) == 0; });
  }
  wait_until("it has its first start", [&] { return started(hidden) == 1; });
  const std::string id = "4c000000-0000-4000-8000-000000000002";
  fixture.kafka.produce({event_message(hidden, id)});
  fixture.note({id});
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.event") == 21);
}

TEST_CASE("status names a group that the user may not use, with the brokers' error, until it is allowed") {
  DaemonFixture fixture{1};
  const std::string reason = "the brokers refuse group " + fixture.config.group;
  const auto is_reported = [&] {
    const auto status = command(fixture.config, {"status"}).out;
    return status.find(reason) != status.npos && status.find("Group authorization failed") != status.npos;
  };
  std::unique_ptr<DaemonProcess> daemon;
  {
    const DeniedAccess rule{fixture.kafka, &Kafka::deny_group, fixture.config.group};
    daemon = fixture.start();
    wait_until("status names the group", is_reported);
  }
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return !is_reported(); });
}

// fault: a fatal error of a client (fenced static member)
TEST_CASE("a static member that another process has fenced ends with 75 and the reason") {
  DaemonFixture fixture{2};
  fixture.config.instance_id = "same";
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  const auto other = fixture.start();
  CHECK(daemon->process().wait() == ExitStatus{75, 0});
  CHECK(daemon->count_in_log("kind=kafka.fatal_error") == 1);
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("unreachable brokers fail neither liveness nor readiness, and show in metrics as long as they last") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.config.sections["database"] = "deadline: 3s";
  fixture.config.sections["liveness"] = "grace: 1s";
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  const auto errors = [&] {
    double out = 0;
    for (const std::string error : {"_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_TIMED_OUT", "unanswered"}) {
      out += gauge(port, "inboxd_kafka_errors_total{error=\"" + error + "\"}");
    }
    return out;
  };
  proxy.refuse(true);
  proxy.cut();
  for (int i = 0; i < 2; ++i) {
    const double before = errors();
    wait_until("errors are still counted", [&] { return errors() > before; });
    holds_for("it is live and ready", milliseconds{2'500},
              [&] { return get(port, "/livez").status == 200 && get(port, "/readyz").status == 200; });
  }
  proxy.refuse(false);
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
}

// fault: all brokers down
TEST_CASE("when all brokers stop and return, the daemon continues by itself, and exits in time without them") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{4};
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1000};
  producer.wait_for_more(500);
  wait_until("it reads", [&] { return fixture.recording.count() > 0; });
  const auto vanish = [&](bool on) {
    proxy.refuse(on);
    if (on) proxy.cut();
  };
  for (int i = 0; i < 2; ++i) {
    vanish(true);
    const auto before = fixture.recording.count();
    producer.wait_for_more(300);
    CHECK(daemon->process().is_running());
    vanish(false);
    wait_until("it reads on", [&] { return fixture.recording.count() > before + 300; });
  }
  producer.finish();
  auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(fixture.offsets_ahead() == 0);

  vanish(true);
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms without brokers: " << counts.text());
  CHECK(took < 12'000);
  vanish(false);
  fixture.produce(50);
  daemon = fixture.start();
  counts = fixture.wait_done();
  CHECK(counts.is_perfect());
}

TEST_CASE("unresponsive brokers do not delay the stop", "[alone]") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  DaemonFixture fixture{1};
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  auto daemon = fixture.start();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
  fixture.produce(50);
  fixture.wait_stored(100);
  proxy.freeze(true);
  const auto began = monotonic_ms();
  CHECK(daemon->stop(milliseconds{100'000}) == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms while the brokers were silent");
  CHECK(took < 8'000);
  CHECK(daemon->count_in_log("kind=consumer.leave_unconfirmed") == 1);
  proxy.cut();
  proxy.freeze(false);
  daemon = fixture.start();
  fixture.produce(10);
  CHECK(fixture.wait_done().is_perfect());
}
