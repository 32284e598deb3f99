#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/batch.hpp"
#include "consumer/counts.hpp"
#include "consumer/hand_off.hpp"
#include "consumer/known_routing.hpp"
#include "consumer/plan.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handlers.hpp"

namespace inboxd::consumer {

/// Stores batches through one connection: routes, reserves room in hand, runs the ingest transaction until its fate is
/// known, takes poison out, hands over what was born leased. Used by one ingester, on its thread.
class Store final {
 public:
  Store(const config::Settings& settings, const base::Uuid& owner, inbox::Connection& connection,
        inbox::Registrations& registrations, HandOff& hand_off, IngestCounts& counts, base::Logger& log);

  struct Stored {
    bool abandoned = false;                    ///< given up by `give_up`: fate unknown or nothing stored
    std::vector<std::int32_t> mismatched;      ///< shards whose position was not what was expected
  };
  /// Returns when the batch is committed, or when `give_up` says so between two tries (the database is away, or was set
  /// back behind its handlers, and the assignment has changed, or the daemon stops). Never throws for a database fault.
  Stored store(Batch& batch, const std::function<bool()>& give_up);

 private:
  /// What a batch is owed to handlers and the room that they have for it.
  struct Plan {
    std::vector<Owed> owed;
    std::vector<HandOff::Room> rooms;  ///< one for each of owed
    inbox::IngestBatch ingest;
  };
  /// Tries of a batch whose COMMIT was in doubt: what they were born with if it was one.
  struct Doubt {
    std::vector<std::int64_t> fences;
    std::vector<std::int32_t> handlers;
    void note(const Plan& plan);
  };
  inbox::IngestBatch without_runs(const Batch& batch);
  void add_runs(Plan& plan, const Batch& batch);
  void release(const Plan& plan);
  void hand_over(const Batch& batch, Plan& plan, const inbox::IngestResult& result);
  void give_back(const std::vector<inbox::LeaseKey>& not_taken);
  void resolve(const Doubt& doubt);
  void report(const Batch& batch, const inbox::IngestResult& result);
  void count(const DecodeCounts<std::uint32_t>& decoded);
  bool take_out_poison(Batch& batch);
  /// An event that the database refuses as bad data, and what it says to it.
  struct Culprit {
    std::size_t index = 0;
    std::string says;
  };
  /// What the database says where it refuses that stretch of the batch's events as bad data; null: it would take them.
  std::optional<std::string> refusal(const inbox::IngestBatch& whole, std::size_t begin, std::size_t end);
  /// Whether it would take any at all: culprits are told from a database that refuses everything.
  bool is_any_accepted(const inbox::IngestBatch& whole, const std::vector<Culprit>& refused);
  /// Whether it would take an event of our own in the place of one that it refuses.
  bool is_harmless_one_accepted(const inbox::IngestBatch& whole, const event::Event& instead_of);
  void find_poison(const inbox::IngestBatch& whole, std::size_t begin, std::size_t end, std::vector<Culprit>& found);
  /// After a fault: whether the batch may be tried again at once.
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
