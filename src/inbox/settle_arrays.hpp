#pragma once
#include "inbox/array_parameter.hpp"
#include "inbox/settle.hpp"

namespace inboxd::inbox {

/// Whether its events are done and nothing else changes.
inline bool only_done(const Settlement& settlement) {
  return settlement.retries.empty() && settlement.dead.empty() && settlement.failures.empty() &&
         settlement.waiting.empty() && settlement.skipped.empty() && !settlement.is_of_lane;
}

/// Whether the whole delivery is done: the frequent case, which a plain statement settles.
inline bool is_all_done(const Settlement& settlement) { return settlement.whole && only_done(settlement); }

/// All offsets that the settlement covers.
event::OffsetSet settled_offsets(const Settlement& settlement);

/// The array parameters of settle_done, in order.
struct DoneArrays {
  ArrayParameter id{ArrayParameter::Type::int8}, fence{ArrayParameter::Type::int8}, done{ArrayParameter::Type::text};

  void add(const Settlement& settlement);
  template <class Visit>
  void each(Visit visit) {
    for (ArrayParameter* array : {&id, &fence, &done}) visit(*array);
  }
};

/// The parameters of settle_parts.
struct DonePartArrays {
  ArrayParameter id{ArrayParameter::Type::int8}, fence{ArrayParameter::Type::int8}, done{ArrayParameter::Type::text},
      events{ArrayParameter::Type::int4};

  void add(const Settlement& settlement);
  template <class Visit>
  void each(Visit visit) {
    for (ArrayParameter* array : {&id, &fence, &done, &events}) visit(*array);
  }
};

/// The array arguments of function inbox.settle, in order.
struct SettledArrays {
  using Type = ArrayParameter::Type;
  ArrayParameter id{Type::int8}, fence{Type::int8}, settled{Type::text}, done{Type::text},
      skipped{Type::text};
  std::vector<LeaseKey> keys;  ///< the settlements that the `_of` arrays refer to, numbered from 1
  ArrayParameter retry_of{Type::int4}, retry_offsets{Type::text}, retry_delay{Type::int8}, retry_error{Type::text},
      retry_lane{Type::int8}, retry_key{Type::bytea};
  ArrayParameter failed_of{Type::int4}, failed_event{Type::uuid}, failed_attempt{Type::int4}, failed_class{Type::text},
      failed_message{Type::text}, failed_duration{Type::int8};
  ArrayParameter dead_of{Type::int4}, dead_offset{Type::int8}, dead_event{Type::uuid}, dead_state{Type::text},
      dead_lane{Type::int8}, dead_key{Type::bytea};
  ArrayParameter waiting_of{Type::int4}, waiting_offsets{Type::text}, waiting_lane{Type::int8},
      waiting_key{Type::bytea};

  void add(const Settlement& settlement);
  template <class Visit>
  void each(Visit visit) {
    for (ArrayParameter* array : {&id,
                                  &fence,
                                  &settled,
                                  &done,
                                  &skipped,
                                  &retry_of,
                                  &retry_offsets,
                                  &retry_delay,
                                  &retry_error,
                                  &retry_lane,
                                  &retry_key,
                                  &failed_of,
                                  &failed_event,
                                  &failed_attempt,
                                  &failed_class,
                                  &failed_message,
                                  &failed_duration,
                                  &dead_of,
                                  &dead_offset,
                                  &dead_event,
                                  &dead_state,
                                  &dead_lane,
                                  &dead_key,
                                  &waiting_of,
                                  &waiting_offsets,
                                  &waiting_lane,
                                  &waiting_key}) {
      visit(*array);
    }
  }
};

}  // namespace inboxd::inbox
