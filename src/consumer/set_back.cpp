#include "consumer/set_back.hpp"

namespace inboxd::consumer {

SetBack::Verdict SetBack::judge(const Seen& seen, Clock::time_point now) {
  const bool is_newest = seen.version >= seen.newest_version || seen.version == accepted_version_;
  if (seen.knows_ours && is_newest) {
    behind_since_.reset();
    return Verdict::known;
  }
  if (!behind_since_) behind_since_ = now;
  // Ours this process puts back itself: there is always somebody to wait for.
  if (!seen.knows_ours || now - *behind_since_ < longest_wait_for_others) return Verdict::behind;
  behind_since_.reset();
  accepted_version_ = seen.version;
  return Verdict::not_put_back;
}

}  // namespace inboxd::consumer
