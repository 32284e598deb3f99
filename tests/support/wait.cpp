#include "support/wait.hpp"

#include <ctime>
#include <stdexcept>
#include <thread>

namespace inboxd::support {
namespace {

constexpr milliseconds poll{20};
constexpr milliseconds quick_poll{1};

std::string seconds(milliseconds time) { return std::to_string(time.count() / 1000) + " s"; }

bool comes_true(const std::function<bool()>& condition, milliseconds within, milliseconds between) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(between);
  }
  return true;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, milliseconds within) {
  return comes_true(condition, within, quick_poll);
}

void wait_until(const std::string& what, const std::function<bool()>& condition, milliseconds within,
                const std::function<std::string()>& state) {
  if (comes_true(condition, within, poll)) return;
  const std::string detail = state ? " (" + state() + ")" : "";
  throw std::runtime_error{"not within " + seconds(within) + ": " + what + detail};
}

void holds_for(const std::string& what, milliseconds time, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (!condition()) throw std::runtime_error{"did not hold for " + seconds(time) + ": " + what};
    std::this_thread::sleep_for(poll);
  }
}

std::int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace inboxd::support
