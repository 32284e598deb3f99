// Handlers' queues of several instances keep the promises of tests/unit/simulation, in any order of steps.
#include "fuzz/target.hpp"
#include "unit/simulation/simulation.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const auto settings = test::settings_of(input.number());
  constexpr auto kinds = static_cast<std::size_t>(test::Step::Kind::resume) + 1;
  std::vector<test::Step> steps;
  while (!input.empty() && steps.size() < 2'000) {
    const auto kind = static_cast<test::Step::Kind>(input.below(kinds));
    steps.push_back({kind, input.number()});
  }
  const auto violation = test::Simulation{settings}.run(steps);
  fuzz::require(!violation, violation ? violation->c_str() : "");
  return 0;
}
