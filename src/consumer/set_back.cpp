#include "consumer/set_back.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::consumer {
namespace {

/// Who has not asked for so long does not wait any more: its batch was given up.
constexpr std::chrono::seconds longest_between_questions{60};
constexpr std::chrono::milliseconds shortest_wait{30'000}, longest_wait{300'000};

}  // namespace

std::chrono::milliseconds wait_for_others(std::chrono::milliseconds database_deadline) {
  return std::clamp(2 * database_deadline, shortest_wait, longest_wait);
}

SetBack::Verdict SetBack::judge(const Knows& knows, Clock::time_point now) {
  const auto asked_before = std::exchange(judged_at_, now);
  if (knows.ours && knows.others) {
    behind_since_.reset();
    return Verdict::known;
  }
  // Ours this process puts back itself: there is always somebody to wait for. Others are as late as that, too.
  if (!knows.ours || !behind_since_ || now - asked_before > longest_between_questions) behind_since_ = now;
  if (!knows.ours || now - *behind_since_ < wait_for_others_) return Verdict::behind;
  behind_since_.reset();
  return Verdict::not_put_back;
}

}  // namespace inboxd::consumer
