#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "process/support/batch_fixture.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

constexpr int instances = 3;

/// Instances of the same fixture; a single instance runs the window.
class Owners final {
 public:
  explicit Owners(BatchFixture& fixture) : fixture_{fixture} {
    for (int i = 0; i < instances; ++i) start();
  }

  DaemonProcess& owner() {
    for (auto& daemon : daemons_) {
      const std::string id = std::to_string(daemon->process().id());
      if (fixture_.app.number("select count(*) from inbox.sequence s join inbox.instance i on i.instance_id = s.owner "
                              "where s.leased_until > clock_timestamp() and i.process_id = " +
                              id) == 1) {
        return *daemon;
      }
    }
    return *daemons_.front();
  }
  void replace(DaemonProcess& daemon) {
    std::erase_if(daemons_, [&](const auto& each) { return each.get() == &daemon; });
    start();
  }

 private:
  void start() { daemons_.push_back(fixture_.start()); }

  BatchFixture& fixture_;
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
};

}  // namespace

// fault: window's owner killed in the middle
TEST_CASE("a window whose owner is killed, stopped, frozen or replaced has each event once") {
  const auto seed = Catch::getSeed();
  CAPTURE(seed);
  std::mt19937 random{static_cast<unsigned>(seed)};
  const bool groups = GENERATE(false, true);
  CAPTURE(groups);
  BatchFixture fixture{std::string{"every: 365d, max_events: 40, group_by: "} + (groups ? "key" : "none"),
                       {"lease: 1s", "retry: {backoff: fixed, base: 100ms, jitter: 0}"},
                       2};
  auto& statement = fixture.config.handlers[0].settings["statement"];
  statement.insert(1, "with rest as materialized (select pg_sleep(0.01)) ");
  statement.replace(statement.find(") with call as") + 1, 6, ",");
  statement.replace(statement.rfind("from events"), 11, "from events, rest");
  Proxy proxy{port_of(fixture.config.url)};
  fixture.config.url = url_with_port(fixture.config.url, proxy.port());
  Owners owners{fixture};
  int produced = 0;
  for (int round = 0; round < 4; ++round) {
    fixture.events.produce(1'500, [](int i) { return KeyedEvents::Made{"key" + std::to_string(i % 100)}; });
    fixture.wait_stored(produced += 1'500);
    fixture.close_window();
    const auto begun = fixture.app.applied() + 100;
    wait_until("the window runs", [&] { return fixture.app.applied() > begun || fixture.app.applied() == produced; });
    DaemonProcess& owner = owners.owner();
    switch (round) {
      case 0:
        owner.kill();
        owners.replace(owner);
        break;
      case 1:
        CHECK(owner.stop() == ExitStatus{0, 0});
        owners.replace(owner);
        break;
      case 2:
        owner.process().signal(SIGSTOP);
        std::this_thread::sleep_for(1500ms + std::chrono::milliseconds{random() % 500});  // past the lease
        owner.process().signal(SIGCONT);
        break;
      default:
        proxy.cut();
    }
    fixture.wait_applied(produced);
    fixture.app.wait_for("the window has ended",
                         "select count(*) from inbox.batch_window where ended_at is not null and asked_at is null", 1);
  }
  CHECK(fixture.app.applied_events() == produced);
  CHECK(fixture.wait_done("batch").is_perfect());
  if (groups) CHECK(fixture.app.number("select count(*) from app.calls where keys <> 1") == 0);
}

TEST_CASE("a run until idle closes the windows of batch handlers") {
  BatchFixture fixture{"every: 365d"};
  fixture.events.produce(100, [](int) { return KeyedEvents::Made{"key"}; });
  fixture.migrate();
  const auto done = command(fixture.config, {"run", "--until-idle"});
  CAPTURE(done.err);
  CHECK(done.status == ExitStatus{0, 0});
  CHECK(fixture.app.applied() == 100);
}

TEST_CASE("a handler that becomes a batch handler, or ceases to be a batch handler, keeps its pending events") {
  BatchFixture fixture{"every: 365d"};
  auto daemon = fixture.start();
  fixture.events.produce(100, [](int) { return KeyedEvents::Made{"key"}; });
  fixture.wait_stored(100);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.handlers[0].more = {"mode: single"};
  daemon = fixture.start();
  fixture.wait_applied(100);
  CHECK(daemon->stop() == ExitStatus{0, 0});

  fixture.app.run("create table app.gate (id int)");
  fixture.config.handlers[0].settings["statement"] = yaml_text(fixture.app.named(
      "insert into app.applied select event_id, n from events cross join (select 1 / count(*) from app.gate) gate(n)"));
  daemon = fixture.start();
  fixture.events.produce(50, [](int) { return KeyedEvents::Made{"key"}; });
  fixture.database.wait_for("they have failed",
                            "select count(*) from inbox.deliveries where attempts > 0 and finished_at is null", 50);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.app.run("insert into app.gate values (1)");
  fixture.config.handlers[0].more = {"mode: batch", "batch: {every: 500ms}"};
  daemon = fixture.start();
  fixture.wait_applied(150);
  CHECK(fixture.wait_done("batch").is_perfect());
}
