#include "inbox/settle.hpp"

#include <set>
#include <utility>

#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

bool is_all_done(const Settlement& settlement) {
  return settlement.whole && settlement.retries.empty() && settlement.dead.empty() && settlement.failures.empty();
}

/// Ids with their fences: one call may name a delivery under an old fence, too.
using Keys = std::set<std::pair<std::int64_t, std::int64_t>>;

std::pair<std::int64_t, std::int64_t> pair_of(const LeaseKey& key) { return {key.delivery_id, key.fence}; }

/// The parameters of the frequent case, one plain statement: whole runs that are done.
struct DoneArrays {
  ArrayParameter id{Type::int8}, fence{Type::int8}, done{Type::text};

  void add(const Settlement& settlement) {
    id.add(settlement.key.delivery_id);
    fence.add(settlement.key.fence);
    done.add(settlement.done.text());
  }
  pqxx::params parameters(const std::string& owner) {
    return pqxx::params{owner, id.finish(), fence.finish(), done.finish()};
  }
};

/// The arrays of function inbox.settle, in the order of its arguments.
struct Arrays {
  ArrayParameter id{Type::int8}, fence{Type::int8}, settled{Type::text}, done{Type::text};
  std::vector<LeaseKey> keys;  ///< what the subscripts of those four stand for, from 1 on
  ArrayParameter retry_of{Type::int4}, retry_offsets{Type::text}, retry_delay{Type::int8}, retry_error{Type::text};
  ArrayParameter failed_of{Type::int4}, failed_event{Type::uuid}, failed_attempt{Type::int4}, failed_class{Type::text},
      failed_message{Type::text}, failed_duration{Type::int8};
  ArrayParameter dead_of{Type::int4}, dead_offset{Type::int8}, dead_event{Type::uuid};

  void add(const Settlement& settlement);
  pqxx::params parameters(const std::string& owner);
};

void Arrays::add(const Settlement& settlement) {
  keys.push_back(settlement.key);
  const auto own = static_cast<std::int32_t>(keys.size());
  event::OffsetSet leaving = settlement.done;
  for (const RetryGroup& group : settlement.retries) {
    for (const auto& range : group.offsets.ranges()) leaving.add(range);
    retry_of.add(own);
    retry_offsets.add(group.offsets.text());
    retry_delay.add(static_cast<std::int64_t>(group.delay.count()));
    retry_error.add(group.last_error);
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
    leaving.add(dead.offset);
    dead_of.add(own);
    dead_offset.add(dead.offset);
    dead_event.add(dead.event_id);
  }
  id.add(settlement.key.delivery_id);
  fence.add(settlement.key.fence);
  settled.add(leaving.text());
  done.add(settlement.done.text());
}

pqxx::params Arrays::parameters(const std::string& owner) {
  pqxx::params out;
  out.append(owner);
  for (ArrayParameter* array :
       {&id, &fence, &settled, &done, &retry_of, &retry_offsets, &retry_delay, &retry_error, &failed_of, &failed_event,
        &failed_attempt, &failed_class, &failed_message, &failed_duration, &dead_of, &dead_offset, &dead_event}) {
    out.append(array->finish());
  }
  return out;
}

}  // namespace

std::vector<LeaseKey> settle(Connection& connection, const base::Uuid& owner,
                             const std::vector<Settlement>& settlements) {
  DoneArrays done;
  Arrays others;
  std::size_t done_count = 0;
  for (const Settlement& settlement : settlements) {
    if (is_all_done(settlement)) {
      done.add(settlement);
      ++done_count;
    } else {
      others.add(settlement);
    }
  }
  auto& access = connection.access();
  const std::string owner_text = owner.text();
  Keys settled;
  const auto note_done = [&](const pqxx::result& rows) {
    for (const auto& row : rows) settled.emplace(row[0].as<std::int64_t>(), row[1].as<std::int64_t>());
  };
  if (done_count == settlements.size()) {
    note_done(access.run(statements::settle_done, done.parameters(owner_text)));
  } else {
    access.transaction([&](pqxx::work& tx) {
      for (const auto& row : access.run_in(tx, statements::settle, others.parameters(owner_text))) {
        settled.insert(pair_of(others.keys.at(row[0].as<std::size_t>() - 1)));
      }
      if (done_count > 0) note_done(access.run_in(tx, statements::settle_done, done.parameters(owner_text)));
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
