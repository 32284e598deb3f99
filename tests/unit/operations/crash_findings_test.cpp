// Daemons that crash again and again, and daemons that are only unseen.
#include <catch2/catch_test_macros.hpp>

#include "operations/status_operation.hpp"

using namespace inboxd;
using namespace inboxd::operations;
using std::chrono::seconds;

namespace {

constexpr event::Microseconds now = 1'700'000'400'000'000;

struct Scene {
  Scene() { situation.now = now; }
  /// Seconds before now.
  void add(std::int64_t started, std::int64_t seen, const std::string& host = "vm") {
    InstanceState instance;
    instance.worker.host = host;
    instance.started_at = now - started * 1'000'000;
    instance.last_seen_at = now - seen * 1'000'000;
    instance.unseen = seconds{seen};
    situation.instances.push_back(instance);
  }
  /// The message, or none.
  std::string loop() {
    for (const auto& finding : findings_of(situation)) {
      if (finding.kind == "crash_loop") return finding.message;
    }
    return "";
  }
  Situation situation;
};

}  // namespace

TEST_CASE("three daemons of a host that are unseen for 20 s have not crashed, also if a fourth has started since") {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.add(3600, 20 + i);
  CHECK(scene.loop() == "");
  scene.add(10, 1);
  CHECK(scene.loop() == "");
}

TEST_CASE("a daemon that is replaced three times by a daemon that started later is in a crash loop") {
  Scene scene;
  scene.add(600, 500);
  scene.add(490, 300);
  scene.add(290, 100);
  CHECK(scene.loop() == "");
  scene.add(90, 2);
  CHECK(scene.loop() == "vm has crashed 3 times within 8 minutes");
}

TEST_CASE("daemons that are unseen for long have crashed; daemons of another host replace none") {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.add(3600, 100);
  for (int i = 0; i < 3; ++i) scene.add(50, 1, "other");
  CHECK(scene.loop() == "");
  for (InstanceState& instance : scene.situation.instances) {
    if (instance.worker.host != "vm") continue;
    instance.last_seen_at = now - 400'000'000;
    instance.unseen = seconds{400};
  }
  CHECK(scene.loop() == "vm has crashed 3 times within 6 minutes");
}
