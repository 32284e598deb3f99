// Cron expressions: the next time lies after the time asked for, and the last time is the last.
#include "config/cron.hpp"

#include <array>

#include "fuzz/target.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr std::array zones{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Nowhere/None"};
  fuzz::Input input{data, size};
  const std::string zone = zones[input.below(zones.size())];
  const config::Cron::Time after{std::chrono::seconds{1'600'000'000 + input.number() % 300'000'000}};
  const auto cron = config::Cron::parse(std::string{input.rest()}, zone);
  if (!cron) {
    fuzz::require(!cron.problem().message.empty(), "a refusal says why");
    return 0;
  }
  const auto next = cron.value().next(after);
  if (!next) return 0;
  fuzz::require(*next > after, "the next time is later");
  const auto last = cron.value().last(after, *next);
  fuzz::require(last == next, "no time lies between a time and the next");
  if (const auto second = cron.value().next(*next)) {
    fuzz::require(*second > *next, "times ascend");
    fuzz::require(cron.value().last(after, *second - std::chrono::microseconds{1}) == next, "the last is the first");
  }
  return 0;
}
