// Instances that configure a handler differently: the newest configuration decides, as long as its instances live.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <csignal>
#include <memory>

#include "process/support/order_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

/// An older configuration with a topic, and a newer configuration with another topic and on_failure: park. Each handler
/// has a secret file of its own.
struct TwoConfigurations : OrderFixture {
  TwoConfigurations() : OrderFixture{1} {
    config.topics.push_back("{name: " + other_topic + "}");
    config.handlers[0].topics = {topic};
    newer.topics = config.topics;
    newer.handlers = config.handlers;
    newer.handlers[0].topics = {topic, other_topic};
    newer.handlers[0].more.push_back("on_failure: park");
    rotate("older", "One");
    rotate("newer", "One");
    config.handlers[0].settings["fail_type"] = "{file: " + (folder / "older").string() + "}";
    newer.handlers[0].settings["fail_type"] = "{file: " + (folder / "newer").string() + "}";
  }
  void rotate(const std::string& whose, const std::string& text) { write_file(folder / whose, text + "\n"); }
  std::string row() { return database.text("select topics::text || ' ' || order_settings from inbox.handler"); }
  std::string order() { return database.text("select split_part(order_settings, '/', 3) from inbox.handler"); }
  void produce_to(const std::string& to, const std::string& id) {
    kafka.produce({event_message(to, id)});
    note({id});
  }
  /// As if all ended instances had ended long ago.
  void age_ended() {
    database.run(
        "update inbox.instance set last_seen_at = last_seen_at - interval '1 min' where stopped_at is not null");
  }

  const std::string other_topic = kafka.create_topic(1);
  TempFolder folder;
  ConfigText newer = config;
};

}  // namespace

TEST_CASE("a secret that rotates in an older instance leaves the handler's topics and order to the newer instance") {
  TwoConfigurations fixture;
  const auto older = fixture.start();
  DaemonProcess newer{fixture.newer};
  newer.wait_ready();
  const std::string row = fixture.row();
  CHECK(fixture.order() == "park");
  fixture.rotate("older", "Two");
  older->wait_log("kind=daemon.secret_changed");
  older->wait_log("kind=daemon.reloaded");
  CHECK(fixture.row() == row);
  fixture.produce_to(fixture.other_topic, "0193d2a0-0000-7000-8000-000000000001");
  fixture.produce_to(fixture.topic, "0193d2a0-0000-7000-8000-000000000002");
  CHECK(fixture.wait_done().is_perfect());

  older->process().signal(SIGHUP);  // an operator's reload is a new registration
  older->wait_log("kind=daemon.reloaded", 2);
  CHECK(fixture.order() == "block");
}

TEST_CASE(
    "once the instances with the newer order are gone, an older instance runs the handler in its own, all topics") {
  TwoConfigurations fixture;
  const auto older = fixture.start();
  auto newer = std::make_unique<DaemonProcess>(fixture.newer);
  newer->wait_ready();
  CHECK(newer->stop() == ExitStatus{0, 0});
  CHECK(fixture.order() == "park");  // until it has been gone for 15 s: it may only restart
  fixture.age_ended();
  older->wait_log("kind=maintenance.order_taken");
  CHECK(fixture.order() == "block");
  fixture.produce_to(fixture.topic, "0193d2a0-0000-7000-8000-000000000001");
  fixture.produce_to(fixture.other_topic, "0193d2a0-0000-7000-8000-000000000002");
  CHECK(fixture.wait_done().is_perfect());

  newer = std::make_unique<DaemonProcess>(fixture.newer);
  newer->wait_ready();
  CHECK(fixture.order() == "park");
  fixture.rotate("older", "Two");
  older->wait_log("kind=daemon.reloaded");
  newer->kill();
  fixture.database.run("update inbox.instance set stopped_at = last_seen_at where settings::text like '%/park/%'");
  fixture.age_ended();
  older->wait_log("kind=maintenance.order_taken", 2);
  older->process().signal(SIGHUP);
  older->wait_log("kind=daemon.reloaded", 2);
  fixture.produce_to(fixture.topic, "0193d2a0-0000-7000-8000-000000000003");
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a reload that changes the order of a handler waits for its running calls, or is refused") {
  const bool is_refused = GENERATE(false, true);
  CAPTURE(is_refused);
  OrderFixture fixture{1, {"order_scope: partition"}};
  const TempFolder folder;
  fixture.config.handlers[0].settings["gate"] = folder / "gate";
  const auto daemon = fixture.start();
  fixture.events.produce(3, [](int) { return KeyedEvents::Made{"key"}; });
  wait_until("a call runs", [&] { return fixture.recording.count() == 1; });
  ConfigText changed = fixture.config;
  changed.handlers[0].more.back() = "order_scope: handler";
  if (is_refused) changed.handlers[0].settings["no_such_setting"] = "1";
  daemon->write_config(changed.text());
  daemon->process().signal(SIGHUP);
  const auto end = std::chrono::steady_clock::now() + milliseconds{500};  // no signal says that nothing happens
  wait_until("it does not apply the change", [&] {
    return daemon->count_in_log("kind=daemon.reloaded") > 0 || std::chrono::steady_clock::now() > end;
  });
  CHECK(daemon->count_in_log("kind=daemon.reloaded") == 0);
  CHECK(fixture.recording.count() == 1);
  write_file(folder / "gate", "");
  daemon->wait_log(is_refused ? "kind=daemon.reload_refused" : "kind=daemon.reloaded");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.recording.count() == 3);
}
