// Brokers that go and come back, topics that may not be read, records with odd times.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Denies the topic, or the group, for as long as it lives.
struct Denied {
  using Deny = void (Kafka::*)(const std::string&, bool);
  Denied(Kafka& brokers, Deny how, std::string what) : kafka{brokers}, deny{how}, name{std::move(what)} {
    (kafka.*deny)(name, true);
  }
  ~Denied() { (kafka.*deny)(name, false); }
  Kafka& kafka;
  const Deny deny;
  const std::string name;
};

}  // namespace

TEST_CASE("a topic that may not be read and one that does not exist: others go on, the reason stays until it may") {
  Stage stage{2};
  const auto denied = stage.kafka.create_topic(1);
  stage.config.topics.push_back("{name: " + denied + "}");
  const auto absent = random_name("absent");
  stage.config.topics.push_back("{name: " + absent + "}");
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const std::string id = "3c000000-0000-4000-8000-000000000001";
  stage.kafka.produce({event_message(denied, id)});
  const auto reason = [&] {
    return stage.database.number("select count(*) from inbox.lag where topic = '" + denied +
                                 "' and halted_reason like 'not readable%authorization%'");
  };
  const auto halted = [&] { return gauge(port, "inboxd_partition_halted{topic=\"" + denied + "\",partition=\"0\"}"); };
  std::unique_ptr<Daemon> daemon;
  {
    const Denied rule{stage.kafka, &Kafka::deny_reading, denied};
    daemon = stage.start();
    stage.produce(100);
    CHECK(stage.wait_done().is_perfect());
    wait_until("the topic stands still with the reason", [&] { return reason() == 1; });
    wait_until("metrics say so", [&] { return halted() == 1; });
    holds_for("it is tried again, and the reason stays", milliseconds{12'000},
              [&] { return reason() == 1 && halted() == 1; });
    CHECK_THAT(command(stage.config, {"status"}).out, ContainsSubstring("not readable"));
    stage.produce(20);
    CHECK(stage.wait_done().is_perfect());
  }
  stage.note({id});
  CHECK(stage.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return reason() == 0; });
  wait_until("metrics say so, too", [&] { return halted() == 0; });
  wait_until("status names the topic that does not exist", [&] {
    return command(stage.config, {"status"}).out.find("the brokers know no topic " + absent) != std::string::npos;
  });
  wait_until("metrics count it",
             [&] { return get(port, "/metrics").body.find("\ninboxd_topics_unknown 1\n") != std::string::npos; });
}

TEST_CASE("a topic that may not be seen at the first start has it once it may; others do not wait for that") {
  Stage stage{1};
  const auto hidden = stage.kafka.create_topic(1);
  stage.kafka.produce({event_message(hidden, "4c000000-0000-4000-8000-000000000001")});
  const auto later = random_name("later");
  stage.config.topics = {"{name: " + hidden + ", start: end}", "{name: " + stage.topic + "}", "{name: " + later + "}"};
  const auto started = [&](const std::string& topic) {
    return stage.database.number("select count(*) from inbox.topic_start where entry = '" + topic + "'");
  };
  std::unique_ptr<Daemon> daemon;
  {
    const Denied rule{stage.kafka, &Kafka::deny_seeing, hidden};
    daemon = stage.start();
    stage.produce(20);
    CHECK(stage.wait_done().is_perfect());
    wait_until("the others have had their first start", [&] { return started(later) == 1; });
    holds_for("it has not", milliseconds{2'500}, [&] { return started(hidden) == 0; });
  }
  wait_until("it has its first start", [&] { return started(hidden) == 1; });
  const std::string id = "4c000000-0000-4000-8000-000000000002";
  stage.kafka.produce({event_message(hidden, id)});
  stage.note({id});
  CHECK(stage.wait_done().is_perfect());
  CHECK(stage.database.number("select count(*) from inbox.event") == 21);
}

TEST_CASE("a group that the user may not use: status names it and what the brokers say, until it may") {
  Stage stage{1};
  const std::string reason = "the brokers refuse group " + stage.config.group;
  const auto is_told = [&] {
    const auto status = command(stage.config, {"status"}).out;
    return status.find(reason) != status.npos && status.find("Group authorization failed") != status.npos;
  };
  std::unique_ptr<Daemon> daemon;
  {
    const Denied rule{stage.kafka, &Kafka::deny_group, stage.config.group};
    daemon = stage.start();
    wait_until("status names the group", is_told);
  }
  stage.produce(20);
  CHECK(stage.wait_done().is_perfect());
  wait_until("the reason is gone", [&] { return !is_told(); });
}

TEST_CASE("brokers that stay away are no wedge and no reason to be unready, and metrics tell for as long as they do") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  Stage stage{2};
  const int port = free_port();
  stage.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.config.sections["database"] = "deadline: 1s";
  stage.config.sections["liveness"] = "grace: 1s";
  const auto daemon = stage.start();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
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
    wait_until("errors go on being counted", [&] { return errors() > before; });
    holds_for("it lives and is ready", milliseconds{2'500},
              [&] { return get(port, "/livez").status == 200 && get(port, "/readyz").status == 200; });
  }
  proxy.refuse(false);
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE(
    "all brokers go in the middle of it and come back: it goes on by itself, and ends in time while they are away") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  Stage stage{4};
  stage.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  auto daemon = stage.start();
  Load load{stage, 1000};
  load.wait_for_more(500);
  wait_until("it reads", [&] { return stage.recording.count() > 0; });
  const auto vanish = [&](bool on) {
    proxy.refuse(on);
    if (on) proxy.cut();
  };
  for (int i = 0; i < 2; ++i) {
    vanish(true);
    const auto before = stage.recording.count();
    load.wait_for_more(300);
    CHECK(daemon->process().is_running());
    vanish(false);
    wait_until("it reads on", [&] { return stage.recording.count() > before + 300; });
  }
  load.finish();
  auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(stage.offsets_ahead() == 0);

  vanish(true);
  const auto began = monotonic_ms();
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms without brokers: " << tally.text());
  CHECK(took < 12'000);
  vanish(false);
  stage.produce(50);
  daemon = stage.start();
  tally = stage.wait_done();
  CHECK(tally.is_perfect());
}

TEST_CASE("records with absurd times are stored with them, handled, shown, and drive no error loop") {
  Stage stage{1};
  const auto odd = stage.kafka.create_topic(1, "",
                                            {{"message.timestamp.after.max.ms", "9223372036854775807"},
                                             {"message.timestamp.before.max.ms", "9223372036854775807"}});
  stage.config.topics = {"{name: " + odd + "}"};
  const std::vector<std::int64_t> times{1, 253'402'300'800'000, 9'224'318'016'000'000,
                                        std::numeric_limits<std::int64_t>::max() / 1000,
                                        std::numeric_limits<std::int64_t>::max()};
  std::vector<Message> messages;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string id = "4d000000-0000-4000-8000-00000000000" + std::to_string(i);
    messages.push_back(event_message(odd, id));
    messages.back().timestamp_ms = times[i];
    stage.note({id});
  }
  stage.kafka.produce(messages);
  const auto daemon = stage.start();
  const auto tally = stage.wait_done();
  CHECK(tally.is_perfect());
  CHECK(tally.calls == static_cast<std::int64_t>(times.size()));
  CHECK(daemon->count_in_log("tried again") == 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto shown = command(stage.config, {"events", "show", stage.ids()[i], "--json"});
    INFO(shown.out << shown.err);
    CHECK(shown.status == ExitStatus{0, 0});
  }
  const auto listed = command(stage.config, {"events", "list"});
  INFO(listed.out << listed.err);
  CHECK(listed.status == ExitStatus{0, 0});
}

TEST_CASE("brokers that fall silent do not hold up the end") {
  Proxy proxy{std::stoi(needed("INBOXD_TEST_KAFKA_BEHIND_PROXY")), std::stoi(needed("INBOXD_TEST_KAFKA_PROXY_PORT"))};
  Stage stage{1};
  stage.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  auto daemon = stage.start();
  stage.produce(50);
  CHECK(stage.wait_done().is_perfect());
  stage.produce(50);
  stage.wait_stored(100);
  proxy.freeze(true);  // with offsets to commit
  const auto began = monotonic_ms();
  CHECK(daemon->stop(milliseconds{100'000}) == ExitStatus{0, 0});
  const auto took = monotonic_ms() - began;
  WARN("stopped within " << took << " ms while the brokers were silent");
  CHECK(took < 8'000);
  CHECK(daemon->count_in_log("left the group without a word") == 1);
  proxy.cut();
  proxy.freeze(false);
  daemon = stage.start();
  stage.produce(10);
  CHECK(stage.wait_done().is_perfect());
}
