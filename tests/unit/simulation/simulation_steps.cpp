// What happens in a simulation, by its seed.
#include <algorithm>
#include <array>
#include <random>

#include "unit/simulation/simulation.hpp"

namespace inboxd::test {

using std::chrono::milliseconds;
using Kind = Step::Kind;

SimulationSettings settings_of(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  SimulationSettings out;
  out.instances = 2 + static_cast<int>(random() % 3);
  out.shards = 1 + static_cast<int>(random() % 3);
  config::Handler& handler = out.handler;
  handler.name = "simulated";
  using config::Mode;
  handler.mode = std::array{Mode::single, Mode::batch, Mode::sequential, Mode::sequential}[random() % 4];
  handler.batch.every = milliseconds{400};
  handler.order_scope = random() % 4 == 0 ? config::OrderScope::handler : config::OrderScope::partition;
  using config::OnFailure;
  handler.on_failure = std::array{OnFailure::block, OnFailure::block, OnFailure::park, OnFailure::skip}[random() % 4];
  out.needs.sql = random() % 3 == 0;
  handler.concurrency = SimulatedInstance::workers;
  handler.events_per_call = 1 + static_cast<int>(random() % 4);
  handler.lease = milliseconds{1'500};
  handler.retry.base = handler.retry.cap = milliseconds{60};
  handler.retry.max_attempts = 3;
  handler.fuse_failures = random() % 3 == 0 ? 2 : 0;
  if (random() % 4 == 0) handler.rate = "5/s";
  if (random() % 3 == 0) handler.max_in_flight = 1 + static_cast<int>(random() % 3);
  return out;
}

std::vector<Step> steps_of(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random{seed + 1};
  // Of 1,000 steps, so many of each kind. Faults are rare, or nothing else happens.
  static constexpr std::array<std::pair<Kind, int>, 18> kinds{{{Kind::wait, 86},
                                                               {Kind::wait_long, 12},
                                                               {Kind::ingest, 100},
                                                               {Kind::ask, 320},
                                                               {Kind::work, 250},
                                                               {Kind::settle, 150},
                                                               {Kind::review, 10},
                                                               {Kind::lose, 12},
                                                               {Kind::crash, 3},
                                                               {Kind::stop, 7},
                                                               {Kind::rebalance, 6},
                                                               {Kind::pause, 6},
                                                               {Kind::replay, 10},
                                                               {Kind::reload, 3},
                                                               {Kind::restore, 1},
                                                               {Kind::hold, 2},
                                                               {Kind::resume, 14},
                                                               {Kind::restart, 8}}};
  std::vector<Step> out;
  while (out.size() < count) {
    int place = static_cast<int>(random() % 1'000);
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& each) {
      place -= each.second;
      return place < 0;
    });
    out.push_back({kind->first, static_cast<std::uint32_t>(random())});
  }
  return out;
}

}  // namespace inboxd::test
