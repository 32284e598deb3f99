#include "unit/simulation/simulation.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

namespace inboxd::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t seeds = 1'000;  // thirty times slower
#elif defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds = 100;  // all runs on one thread
#else
constexpr std::uint64_t seeds = 10'000;
#endif
constexpr std::size_t steps_each = 2'500;

std::optional<std::string> violation_of(const SimulationSettings& settings, const std::vector<Step>& steps) {
  return Simulation{settings}.run(steps);
}

/// Leaves out steps as long as a promise is still broken.
std::vector<Step> shortened(const SimulationSettings& settings, std::vector<Step> steps) {
  for (std::size_t part = steps.size() / 2; part > 0; part /= 2) {
    for (std::size_t at = 0; at + part <= steps.size();) {
      auto fewer = steps;
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(first, first + static_cast<std::ptrdiff_t>(part));
      if (violation_of(settings, fewer)) {
        steps = std::move(fewer);
      } else {
        at += part;
      }
    }
  }
  return steps;
}

std::string text_of(const std::vector<Step>& steps) {
  static constexpr std::array names{"wait",  "wait_long", "ingest",    "ask",   "work",   "settle", "review", "lose",
                                    "crash", "stop",      "rebalance", "pause", "replay", "reload", "restore",
                                    "hold", "resume",    "restart"};
  std::string out;
  for (const Step& step : steps) {
    out += std::string{names[static_cast<std::size_t>(step.kind)]} + "(" + std::to_string(step.random) + ") ";
  }
  return out;
}

/// With SIMULATION_TRACES, a folder, each seed writes its trace.
Trace trace_of(std::uint64_t seed) {
  const char* const folder = std::getenv("SIMULATION_TRACES");
  return folder == nullptr ? Trace{} : Trace{std::string{folder} + "/" + std::to_string(seed) + ".trace"};
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace

TEST_CASE("instances call each event once under a fence, in the order of its key, whatever fails") {
  const auto first = number_of("SIMULATION_SEED", 1);
  const auto last = first + number_of("SIMULATION_SEEDS", seeds);
  for (auto seed = first; seed < last; ++seed) {
    auto settings = settings_of(seed);
    settings.trace = trace_of(seed);
    const auto steps = steps_of(seed, steps_each);
    const auto violation = violation_of(settings, steps);
    if (!violation) continue;
    settings.trace = {};
    const auto fewer = shortened(settings, steps);
    FAIL("seed " << seed << ": " << *violation << "\nafter " << fewer.size()
                 << " steps: " << violation_of(settings, fewer).value_or("") << "\n"
                 << text_of(fewer));
  }
}

TEST_CASE("the simulation notices a database that does not compare fences") {
  bool is_noticed = false;
  for (std::uint64_t seed = 1; seed <= seeds && !is_noticed; ++seed) {
    auto settings = settings_of(seed);
    settings.guards.compares_fences = false;
    is_noticed = violation_of(settings, steps_of(seed, steps_each)).has_value();
  }
  CHECK(is_noticed);
}

}  // namespace inboxd::test
