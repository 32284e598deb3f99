#include "inbox/settle.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/settle_arrays.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

/// Ids with fences: a call may contain the same delivery under an old fence, too.
using FencedIds = std::set<std::pair<std::int64_t, std::int64_t>>;

std::pair<std::int64_t, std::int64_t> pair_of(const LeaseKey& key) { return {key.delivery_id, key.fence}; }

template <class Arrays>
pqxx::params parameters(const std::string& owner, Arrays& arrays) {
  pqxx::params out;
  out.append(owner);
  arrays.each([&](ArrayParameter& array) { out.append(array.finish()); });
  return out;
}

void add_key(const std::optional<FailedKey>& key, ArrayParameter& lanes, ArrayParameter& keys) {
  key ? lanes.add(key->lane) : lanes.add_null();
  keys.add(key && key->key ? event::MaybeBytes{*key->key} : std::nullopt);
}

std::string_view state_text(DeadEvent::State state) {
  switch (state) {
    case DeadEvent::State::parks:
      return "parks";
    case DeadEvent::State::parked:
      return "parked";
    case DeadEvent::State::expired:
      return "expired";
    case DeadEvent::State::expires:
      return "expires";
    default:
      return "dead";
  }
}

void make_ascii(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
}

}  // namespace

event::OffsetSet settled_offsets(const Settlement& settlement) {
  event::OffsetSet out = settlement.done;
  for (const auto& range : settlement.skipped.ranges()) out.add(range);
  for (const RetryGroup& group : settlement.retries) {
    for (const auto& range : group.offsets.ranges()) out.add(range);
  }
  for (const DeadEvent& dead : settlement.dead) out.add(dead.offset);
  for (const WaitingEvents& waiting : settlement.waiting) {
    for (const auto& range : waiting.offsets.ranges()) out.add(range);
  }
  return out;
}

void DoneArrays::add(const Settlement& settlement) {
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  done.add(settlement.done.text());
}

void DonePartArrays::add(const Settlement& settlement) {
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  done.add(settlement.done.text());
  events.add(static_cast<std::int32_t>(settlement.done.count()));
}

void SettledArrays::add(const Settlement& settlement) {
  keys.push_back(settlement.key);
  const auto own = static_cast<std::int32_t>(keys.size());
  for (const RetryGroup& group : settlement.retries) {
    retry_of.add(own);
    retry_offsets.add(group.offsets.text());
    const auto delay = static_cast<std::int64_t>(group.delay.count());
    retry_delay.add(group.is_deferred ? -std::max<std::int64_t>(delay, 1) : delay);
    group.last_error ? retry_error.add(*group.last_error) : retry_error.add_null();
    add_key(group.key, retry_lane, retry_key);
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
    dead_state.add(state_text(dead.state));
    add_key(dead.key, dead_lane, dead_key);
  }
  for (const WaitingEvents& waiting : settlement.waiting) {
    waiting_of.add(own);
    waiting_offsets.add(waiting.offsets.text());
    add_key(FailedKey{waiting.lane, waiting.key}, waiting_lane, waiting_key);
  }
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  settled.add(settled_offsets(settlement).text());
  done.add(settlement.done.text());
  skipped.add(settlement.skipped.text());
}

void make_ascii(std::vector<Settlement>& settlements) {
  for (Settlement& settlement : settlements) {
    for (RetryGroup& group : settlement.retries) {
      if (group.last_error) make_ascii(*group.last_error);
    }
    for (FailedAttempt& failure : settlement.failures) {
      make_ascii(failure.error_class);
      make_ascii(failure.message);
    }
  }
}

std::vector<LeaseKey> settle(Connection& connection, const base::Uuid& owner,
                             const std::vector<Settlement>& settlements) {
  DoneArrays done;
  DonePartArrays parts;  // all done deliveries, if some of them are parts
  SettledArrays others;
  const auto count = [&](const auto& condition) {
    return static_cast<std::size_t>(std::count_if(settlements.begin(), settlements.end(), condition));
  };
  const std::size_t done_count = count(only_done);
  const bool has_parts = count(is_all_done) < done_count;
  // A single statement locks the rows that other transactions may share, in order of their ids.
  const bool is_mixed = has_parts && done_count < settlements.size();
  for (const Settlement& settlement : settlements) {
    if (is_mixed || !only_done(settlement)) {
      others.add(settlement);
    } else {
      has_parts ? parts.add(settlement) : done.add(settlement);
    }
  }
  auto& access = connection.access();
  const std::string owner_text = owner.text();
  FencedIds settled;
  const auto note_done = [&](const pqxx::result& rows) {
    for (const auto& row : rows) settled.emplace(row[0].as<std::int64_t>(), row[1].as<std::int64_t>());
  };
  const Statement& statement = has_parts ? statements::settle_parts : statements::settle_done;
  const auto done_parameters = [&] {
    return has_parts ? parameters(owner_text, parts) : parameters(owner_text, done);
  };
  if (done_count == settlements.size()) {
    note_done(access.run(statement, done_parameters()));
  } else {
    access.transaction([&](pqxx::work& tx) {
      for (const auto& row : access.run_in(tx, statements::settle, parameters(owner_text, others))) {
        settled.insert(pair_of(others.keys.at(row[0].as<std::size_t>() - 1)));
      }
      if (done_count > 0 && !is_mixed) note_done(access.run_in(tx, statement, done_parameters()));
      return true;
    });
  }
  std::vector<LeaseKey> lost;
  for (const Settlement& settlement : settlements) {
    if (!settled.contains(pair_of(settlement.key))) lost.push_back(settlement.key);
  }
  return lost;
}

void settle_skipped(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys) {
  ArrayParameter id{Type::int8}, fence{Type::int8};
  for (const LeaseKey& key : keys) {
    id.add(key.delivery_id);
    fence.add(key.fence);
  }
  connection.access().run(statements::settle_skipped, pqxx::params{owner.text(), id.finish(), fence.finish()});
}

}  // namespace inboxd::inbox
