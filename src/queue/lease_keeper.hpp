#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "queue/requests.hpp"
#include "queue/run_queue.hpp"
#include "queue/sequences.hpp"
#include "queue/visit_steps.hpp"

namespace inboxd::dispatcher {

/// What a handler holds in the database: the leases of its runs and sequences.
struct Leases {
  std::int32_t handler_id = 0;
  std::chrono::milliseconds length{0};  ///< as configured now: a reload may have shortened it
  RunQueue& queue;
  Sequences& sequences;
};

/// Keeps a handler's leases in the database: it renews and releases them by name, and settles deliveries whose events
/// are gone. Renewals come before releases: a late release is only late. Bookkeeping without a
/// lock.
class LeaseKeeper final {
 public:
  using Clock = std::chrono::steady_clock;

  /// The next question of a visit, which asks each at most once, except for further leases. nullopt ends the visit.
  std::optional<Request> next(const Leases& leases, Clock::time_point now);
  /// When to begin a visit.
  Clock::time_point next_due(const Leases& leases) const;

  void answered(const Leases& leases, const RenewLeases& question, std::int64_t renewed, const Visit& visit);
  void answered(const Leases& leases, const ReleaseLeases& question, std::monostate result, const Visit& visit);
  void answered(const Leases& /*leases*/, const ReleaseClaims& /*question*/, std::monostate /*result*/,
                const Visit& /*visit*/) {
    lost_claims_.clear();
  }
  void answered(const Leases& /*leases*/, const SettleSkipped& /*question*/, std::monostate /*result*/,
                const Visit& /*visit*/) {
    to_skip_.clear();
  }
  void answered(const Leases& leases, const RenewSequences& question,
                const std::vector<inbox::RenewedSequence>& renewed, const Visit& visit);
  void answered(const Leases& leases, const FindLostSequences& /*question*/,
                const std::vector<inbox::SequenceKey>& lost, const Visit& /*visit*/) {
    lose(leases.sequences, lost);
    if (lost.empty()) return;
    // If only its fence has changed, a renewal tells the fence to release the sequence under.
    last_sequence_renewal_ = {};
    steps_.restart();
  }
  /// Repeating the question after a failure is harmless: a fence works once.
  void answered(const Leases& /*leases*/, const ReleaseSequences& /*question*/, std::monostate /*result*/,
                const Visit& /*visit*/) {
    drained_.clear();
  }
  /// A refused question does not hold up the others. Without a connection, the visit ends.
  void failed(const Request& question, const inbox::DatabaseFailure& failure);

  /// Leased rows of a claim that never were in memory.
  void release(const std::vector<inbox::LeaseKey>& keys) {
    to_release_.insert(to_release_.end(), keys.begin(), keys.end());
  }
  /// Rows of a claim whose events were purged.
  void skip(const std::vector<inbox::LeaseKey>& keys) { to_skip_.insert(to_skip_.end(), keys.begin(), keys.end()); }
  /// A claim got no answer and may have leased deliveries. They were never in flight, so they must neither wait for the
  /// end of the lease nor count as crashed.
  void lost_claim(std::int64_t fence, Clock::time_point asked);

  /// No row is leased beyond the rows in memory: the events after it must not be claimed first.
  bool holds_only_memory() const { return to_release_.empty() && lost_claims_.empty(); }
  /// Sequences that were drained are still owned in the database.
  bool any_drained() const { return !drained_.empty(); }

  /// Ends the ownership of sequences that were lost under these fences.
  static void lose(Sequences& sequences, const std::vector<inbox::SequenceKey>& lost);

 private:
  Clock::time_point next_renewal(const Leases& leases) const;
  using Runs = std::vector<std::shared_ptr<settler::Run>>;
  std::optional<Request> renew(const Leases& leases, Clock::time_point now);
  std::optional<Request> release_leases(const Leases& leases);
  std::optional<Request> release_claims(const Leases& leases, Clock::time_point now);
  std::optional<Request> settle_skipped();
  std::optional<Request> renew_sequences(const Leases& leases, Clock::time_point now);
  std::optional<Request> find_lost_sequences(const Leases& leases, Clock::time_point now);
  std::optional<Request> release_sequences(const Leases& leases);

  VisitSteps steps_;
  std::vector<Runs> to_renew_;  ///< in this visit; the last part is asked for
  Clock::time_point last_renewal_{};
  std::vector<inbox::LeaseKey> to_release_;
  std::vector<inbox::LeaseKey> to_skip_;
  std::vector<std::int64_t> lost_claims_;  ///< fences
  Clock::time_point first_lost_{};         ///< when the first of these claims was sent
  Clock::time_point last_sequence_renewal_{};
  Clock::time_point next_look_{};  ///< whether sequences are lost
  std::vector<inbox::SequenceKey> drained_;
};

}  // namespace inboxd::dispatcher
