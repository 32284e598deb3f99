#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/histogram.hpp"
#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/batch.hpp"
#include "consumer/disk_shortage.hpp"
#include "consumer/hand_off.hpp"
#include "consumer/routing.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/generations.hpp"
#include "inbox/resends.hpp"
#include "inbox/unsubscribed.hpp"

namespace inboxd::consumer {

/// What ingest has done since the start, and what maintenance tells it. Any thread reads.
struct IngestCounts {
  std::atomic<std::uint64_t> stored{0}, duplicates{0}, conflicts{0}, quarantined{0}, batches{0}, repeats{0},
      mismatches{0};
  DiskShortage disk;                            ///< the last batch failed with 53100
  std::atomic<bool> quarantine_is_full{false};  ///< maintenance sets it: a record for quarantine halts its partition
  std::atomic<int> held{0};  ///< ingesters that wait for lost registrations to be restored
  DecodeCounts<std::atomic<std::uint64_t>> decoded{};
  inbox::Unsubscribed unsubscribed;
  inbox::Resends resends;
  inbox::LedgerFilters filters;  ///< of the ledger; maintenance loads them
  /// From a batch's first try to its commit.
  base::Histogram batch_seconds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  base::Histogram batch_records{1, 3, 10, 30, 100, 300, 1'000, 3'000, 10'000, 30'000, 100'000};
};

/// Writes batches: routes them, reserves room in the dispatcher, runs the ingest transaction until its outcome is
/// known, moves poison to quarantine, and hands over the born-leased runs. Used by a single ingester, on its thread.
class BatchWriter final {
 public:
  BatchWriter(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
              inbox::Registrations& registrations, HandOff& hand_off, IngestCounts& counts, base::Logger& log);

  struct Written {
    bool abandoned = false;                ///< stopped by `give_up`: nothing stored, or the outcome is unknown
    std::vector<std::int32_t> mismatched;  ///< shards whose position differed from the expected position: not stored
  };
  /// Retries until the batch is committed, or until `give_up` returns true between two tries (the partitions were
  /// revoked, or the daemon stops). Never throws for a database fault.
  Written write(Batch& batch, const std::function<bool()>& give_up);

 private:
  /// A try: the batch's runs by handler, and the room reserved for them.
  struct Plan {
    std::vector<HandlerRuns> handlers;
    std::vector<HandOff::Reservation> reservations;          ///< for each of `handlers`
    std::map<std::size_t, HandOff::InOrder> parts_in_order;  ///< of `handlers` that keep order, by index
    std::vector<bool> has_handler;                           ///< for each event: some handler subscribes to it
    inbox::IngestBatch ingest;
  };
  /// Tries whose COMMIT was in doubt: the leases that each may have written.
  struct TriesInDoubt {
    std::vector<std::int64_t> fences;
    std::vector<std::int32_t> handlers;
    void add(const Plan& plan);
  };
  inbox::IngestBatch without_runs(const Batch& batch);
  void route_batch(Plan& plan, const Batch& batch);
  void wait_for_room(const Plan& plan, const Batch& batch, const std::function<bool()>& give_up);
  void reserve(Plan& plan, const Batch& batch, bool may_lease_in_order);
  void release_reservations(Plan& plan);
  static HandOff::InOrder in_order(const Batch& batch, const HandlerRuns& planned);
  void end_in_order(Plan& plan, std::size_t number, bool is_in_memory);
  void hand_over(const Batch& batch, Plan& plan, const inbox::IngestResult& result);
  void release_leases(const std::vector<inbox::LeaseKey>& not_taken);
  void release_leases_in_doubt(const TriesInDoubt& tries);
  void report(const Batch& batch, const inbox::IngestResult& result);
  void count_unsubscribed(const Batch& batch, const Plan& plan, const inbox::IngestResult& result);
  void count(const DecodeCounts<std::uint32_t>& decoded);
  bool quarantine_poison(Batch& batch);
  /// After a fault: whether the batch may be retried at once.
  bool recover(Batch& batch, const inbox::DatabaseFailure& failure);

  const config::Settings& settings_;
  const base::Uuid owner_;
  inbox::Connection& connection_;
  HandOff& hand_off_;
  IngestCounts& counts_;
  base::Logger& log_;
  KnownRouting routing_;
};

}  // namespace inboxd::consumer
