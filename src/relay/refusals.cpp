#include "relay/refusals.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::relay {

void Refusals::note_batch(std::set<std::int64_t> messages, std::size_t bytes) {
  if (batches_.size() >= max_batches) batches_.erase(batches_.begin());
  batches_.push_back({std::move(messages), bytes});
}

void Refusals::note_sent(std::int64_t message) {
  for (Batch& batch : batches_) batch.suspects.erase(message);
}

void Refusals::note_refused(std::int64_t message) {
  std::erase_if(batches_, [&](const Batch& batch) { return batch.suspects.contains(message); });
}

void Refusals::note_too_large(const std::string& topic, std::size_t bytes, Clock::time_point now) {
  if (too_large_.size() >= max_topics) too_large_.clear();
  TooLarge& known = too_large_[topic];
  known = {now < known.until ? std::min(known.bytes, bytes) : bytes, now + too_large_for};
}

bool Refusals::is_suspect(std::string_view topic, std::size_t bytes, Clock::time_point now) const {
  if (too_large_.empty()) return false;
  const auto known = too_large_.find(topic);
  return known != too_large_.end() && bytes >= known->second.bytes && now < known->second.until;
}

bool Refusals::make_smaller(Clock::time_point now) {
  const auto accepted =
      std::find_if(batches_.begin(), batches_.end(), [](const Batch& batch) { return batch.suspects.empty(); });
  if (accepted == batches_.end()) return false;
  const std::size_t refused = accepted->bytes;
  batches_.clear();
  const std::size_t present = batch_bytes(now) == 0 ? library_batch_bytes : batch_bytes_;
  smaller_until_ = now + smaller_for;
  if (present == min_batch_bytes) return false;
  batch_bytes_ = std::max(std::min(refused, present) / 2, min_batch_bytes);
  return true;
}

}  // namespace inboxd::relay
