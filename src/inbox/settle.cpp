#include "inbox/settle.hpp"

#include <set>
#include <utility>

#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/settle_arrays.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

/// Ids with their fences: one call may name a delivery under an old fence, too.
using Keys = std::set<std::pair<std::int64_t, std::int64_t>>;

std::pair<std::int64_t, std::int64_t> pair_of(const LeaseKey& key) { return {key.delivery_id, key.fence}; }

template <class Arrays>
pqxx::params parameters(const std::string& owner, Arrays& arrays) {
  pqxx::params out;
  out.append(owner);
  arrays.each([&](ArrayParameter& array) { out.append(array.finish()); });
  return out;
}

void make_plain(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
}

}  // namespace

void make_plain(std::vector<Settlement>& settlements) {
  for (Settlement& settlement : settlements) {
    for (RetryGroup& group : settlement.retries) {
      if (group.last_error) make_plain(*group.last_error);
    }
    for (FailedAttempt& failure : settlement.failures) {
      make_plain(failure.error_class);
      make_plain(failure.message);
    }
  }
}

std::vector<LeaseKey> settle(Connection& connection, const base::Uuid& owner,
                             const std::vector<Settlement>& settlements) {
  DoneArrays done;
  SettledArrays others;
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
    note_done(access.run(statements::settle_done, parameters(owner_text, done)));
  } else {
    access.transaction([&](pqxx::work& tx) {
      for (const auto& row : access.run_in(tx, statements::settle, parameters(owner_text, others))) {
        settled.insert(pair_of(others.keys.at(row[0].as<std::size_t>() - 1)));
      }
      if (done_count > 0) note_done(access.run_in(tx, statements::settle_done, parameters(owner_text, done)));
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
