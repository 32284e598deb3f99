#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "process/support/keyed_events.hpp"
#include "process/support/order_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// Instances that come and go at random while keyed events are produced, one key with 30 % of them.
class Turmoil {
 public:
  Turmoil(OrderFixture& fixture, unsigned seed) : fixture_{fixture}, random_{seed} {
    start();
    start();
  }

  void disturb() {
    switch (draw(5)) {
      case 0:
        if (daemons_.size() < 3) start();
        break;
      case 1:
        take_one()->kill();
        break;
      case 2:
        CHECK(take_one()->stop() == ExitStatus{0, 0});
        break;
      case 3: {  // past the lease, then it wakes up
        DaemonProcess& daemon = *daemons_[draw(daemons_.size())];
        daemon.process().signal(SIGSTOP);
        std::this_thread::sleep_for(3s);
        daemon.process().signal(SIGCONT);
        break;
      }
      default:
        break;
    }
    if (daemons_.size() < 2) start();
  }

  void produce(int count) {
    fixture_.events.produce(count, [&](int) {
      const std::string key = draw(10) < 3 ? "hot" : "key" + std::to_string(draw(5'000));
      const std::string type = draw(60) == 0 ? "Fails" + std::to_string(1 + draw(3)) : "Happened";
      return KeyedEvents::Made{key, type};
    });
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  void start() {
    daemons_.push_back(std::make_unique<DaemonProcess>(fixture_.config));
    daemons_.back()->wait_ready();
  }
  std::unique_ptr<DaemonProcess> take_one() {
    const auto at = daemons_.begin() + static_cast<std::ptrdiff_t>(draw(daemons_.size()));
    auto out = std::move(*at);
    daemons_.erase(at);
    return out;
  }

  OrderFixture& fixture_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
};

}  // namespace

TEST_CASE("every key keeps its order while instances are killed, stopped, paused and added") {
  const unsigned seed = std::random_device{}();
  WARN("seed " << seed);
  OrderFixture fixture{6, {"retry: {max_attempts: 10, backoff: fixed, base: 200ms, jitter: 0}"}};
  fixture.migrate();
  Turmoil turmoil{fixture, seed};
  for (int round = 0; round < (is_long() ? 200 : 6); ++round) {
    turmoil.produce(400);
    turmoil.disturb();
  }
  const auto counts = fixture.wait_done("recorder", is_long() ? 600'000ms : 90'000ms);
  CHECK(counts.is_perfect());
  CHECK(fixture.events.out_of_order() == "");
}
