#include "inbox/settle_arrays.hpp"

namespace inboxd::inbox {

event::OffsetSet leaving(const Settlement& settlement) {
  event::OffsetSet out = settlement.done;
  for (const RetryGroup& group : settlement.retries) {
    for (const auto& range : group.offsets.ranges()) out.add(range);
  }
  for (const DeadEvent& dead : settlement.dead) out.add(dead.offset);
  return out;
}

void DoneArrays::add(const Settlement& settlement) {
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  done.add(settlement.done.text());
}

void SettledArrays::add(const Settlement& settlement) {
  keys.push_back(settlement.key);
  const auto own = static_cast<std::int32_t>(keys.size());
  for (const RetryGroup& group : settlement.retries) {
    retry_of.add(own);
    retry_offsets.add(group.offsets.text());
    retry_delay.add(static_cast<std::int64_t>(group.delay.count()));
    group.last_error ? retry_error.add(*group.last_error) : retry_error.add_null();
  }
  for (const FailedAttempt& failure : settlement.failures) {
    failed_of.add(own);
    failed_event.add(failure.event_id);
    failed_attempt.add(failure.attempt);
    failed_class.add(failure.error_class);
    failed_message.add(failure.message);
    failed_duration.add(static_cast<std::int64_t>(failure.duration.count()));
  }
  for (const DeadEvent& dead : settlement.dead) {
    dead_of.add(own);
    dead_offset.add(dead.offset);
    dead_event.add(dead.event_id);
  }
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  settled.add(leaving(settlement).text());
  done.add(settlement.done.text());
}

}  // namespace inboxd::inbox
