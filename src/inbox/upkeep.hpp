#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// Makes day partitions from yesterday to that many days ahead; returns how many were missing.
int make_partitions(Connection& connection, int days_ahead);

/// When the first day begins that a table has no partition for: seconds since 1970.
std::int64_t days_made_until(Connection& connection);

/// Drops one day of table `event`, `outcome` or `failure` that is older than `keep` and not needed; returns its name.
/// Whoever works with the table waits less than a second for it: where that does not do, it throws and changes nothing.
std::optional<std::string> drop_partition(Connection& connection, const std::string& table,
                                          std::chrono::milliseconds keep);

/// The oldest day of events that is past its time and needed all the same, and by which handlers.
struct KeptDay {
  std::string partition;
  std::string handlers;
};
std::optional<KeptDay> find_kept_day(Connection& connection, std::chrono::milliseconds keep);

/// Deletes what is kept no longer from so many blocks of the ledger, which is walked through once a day; whoever calls
/// takes the next bite. `has_more`: the walk is not at its end. No bite where another one has it in hand, or where the
/// day's walk is done.
struct LedgerTrimmed {
  std::int64_t rows = 0;
  bool has_more = false;
  bool is_bite = false;
};
LedgerTrimmed trim_ledger(Connection& connection, std::chrono::milliseconds keep, int blocks);

/// Deletes a bite of what is kept no longer; each returns the rows it deleted.
std::int64_t trim_positions(Connection& connection, int bite);
std::int64_t trim_old_rows(Connection& connection, std::optional<std::chrono::milliseconds> keep_dead_letters,
                           std::optional<std::chrono::milliseconds> keep_quarantine, int bite);

/// This process, for `status`.
struct InstanceIdentity {
  base::Uuid instance_id;
  std::string host;
  int process_id = 0;
};
/// `trouble`: what it cannot do now, in a sentence. `handlers`: those that it runs.
void instance_seen(Connection& connection, const InstanceIdentity& identity, bool stopped,
                   const std::optional<std::string>& trouble = std::nullopt,
                   const std::vector<std::int32_t>& handlers = {});

/// Behind the oldest transaction vacuum cannot clean up: who has it.
struct OldestTransaction {
  std::string holder;  ///< `session`, `prepared transaction`, `replication slot`
  int process_id = 0;  ///< 0: of no process
  std::string name;    ///< the application's, the transaction's or the slot's
  std::string user;
  std::string id;      ///< the transaction's: the same as long as nothing moves
  std::optional<std::chrono::seconds> age;  ///< where the server tells this role
};
std::optional<OldestTransaction> find_oldest_transaction(Connection& connection);

/// Events owed to these handlers and ranges still to be back-filled: 0 when everything is settled.
std::int64_t outstanding(Connection& connection, const std::vector<std::string>& handlers);

}  // namespace inboxd::inbox
