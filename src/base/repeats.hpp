#pragma once
#include <chrono>
#include <map>
#include <string>

namespace inboxd::base {

/// Limits repeated log lines: a text is news the first time, and again once `quiet` has passed. Not thread-safe.
class Repeats final {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Repeats(Clock::duration quiet = std::chrono::seconds{30}) : quiet_{quiet} {}

  bool is_news(const std::string& what, Clock::time_point now = Clock::now()) {
    constexpr std::size_t max_kinds = 1'000;
    if (told_.size() >= max_kinds) std::erase_if(told_, [&](const auto& one) { return now - one.second >= quiet_; });
    if (told_.size() >= max_kinds) told_.clear();
    const auto [told, is_new] = told_.try_emplace(what, now);
    if (!is_new && now - told->second < quiet_) return false;
    told->second = now;
    return true;
  }

 private:
  Clock::duration quiet_;
  std::map<std::string, Clock::time_point> told_;
};

}  // namespace inboxd::base
