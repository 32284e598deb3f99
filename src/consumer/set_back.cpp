#include "consumer/set_back.hpp"

#include <utility>

namespace inboxd::consumer {
namespace {

/// Who has not asked for so long does not wait any more: its batch was given up.
constexpr std::chrono::seconds longest_between_questions{60};

}  // namespace

SetBack::Verdict SetBack::judge(const Knows& knows, Clock::time_point now) {
  const auto asked_before = std::exchange(judged_at_, now);
  if (knows.ours && knows.others) {
    behind_since_.reset();
    return Verdict::known;
  }
  if (!behind_since_ || now - asked_before > longest_between_questions) behind_since_ = now;
  // Ours this process puts back itself: there is always somebody to wait for.
  if (!knows.ours || now - *behind_since_ < longest_wait_for_others) return Verdict::behind;
  behind_since_.reset();
  return Verdict::not_put_back;
}

}  // namespace inboxd::consumer
