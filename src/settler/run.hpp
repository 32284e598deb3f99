#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.hpp"
#include "config/topics.hpp"
#include "envelope/order_key.hpp"
#include "event/now.hpp"
#include "event/offset_set.hpp"
#include "event/verdict.hpp"
#include "inbox/claim.hpp"

namespace inboxd::settler {

struct Run;

/// Events of a sequential run whose outcomes are recorded, by the effect on their keys. Indexes into the run's events.
struct KeyEffects {
  event::OffsetSet finished;          ///< the key's next event may run
  std::vector<std::size_t> blocking;  ///< retried later: its key is blocked
  std::vector<std::size_t> parking;   ///< dead: later events of its key are parked
  std::vector<std::size_t> waiting;   ///< left memory without a call: they wait in their lane, or are parked
};

/// The part of the program that has a run in flight and learns its outcomes. Called by the settler's thread, or by the
/// worker that committed the outcomes; must not block.
class RunOwner {
 public:
  virtual ~RunOwner() = default;

  /// The outcomes of `events` more events of the run are recorded.
  virtual void settled(const Run& run, std::int64_t events) = 0;

  /// The effects on a sequence's keys; called before `settled`.
  virtual void settled_in_order(const Run& /*run*/, const KeyEffects& /*effects*/) {}

  /// The outcomes of the called events of a settlement; with the error class of the last failed event.
  virtual void recorded(std::int64_t /*done*/, std::int64_t /*failed*/, const std::string& /*error_class*/) {}

  /// The database's clock, never ahead of it.
  virtual event::Microseconds now() const { return event::now(); }

  /// The lease is lost: none of the run's outcomes will be recorded. Called again for each later report; `events`: of
  /// the report that was dropped. Until they are reported or put back, events may still be in a running call.
  virtual void lost(const Run& run, std::int64_t events) = 0;

  /// Events of the run were split off; their retry is due at that time.
  virtual void retry_at(std::chrono::steady_clock::time_point due) = 0;
};

/// A delivery in flight, from its lease to its last settlement. Shared by its owner, the workers and the settler.
struct Run {
  Run(inbox::LeasedRun leased, std::shared_ptr<const config::Policy> of_handler, std::shared_ptr<RunOwner> run_owner,
      std::string handler_name)
      : lease{std::move(leased)},
        policy{std::move(of_handler)},
        owner{std::move(run_owner)},
        handler{std::move(handler_name)} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::size_t size() const { return lease.events.size(); }
  bool is_in_order() const { return !keys.empty(); }
  envelope::KeyHash key_of(std::size_t index) const { return keys.empty() ? envelope::no_order_key : keys[index]; }

  const inbox::LeasedRun lease;
  const std::shared_ptr<const config::Policy> policy;
  const std::shared_ptr<RunOwner> owner;
  const std::string handler;            ///< its name, for the log
  std::vector<envelope::KeyHash> keys;  ///< in a sequence: the order key of each event. Set before it is shared
  envelope::OrderKeyRule key_rule;      ///< in a sequence: the rule of its keys
  config::OnFailure on_failure = config::OnFailure::block;
  mutable std::atomic<bool> lane_has_failed{false};  ///< of a lane: its later events wait again. Set by its owner
  std::atomic<bool> lost{false};                     ///< reports of the run are dropped from then on
  std::atomic<std::size_t> recorded{0};  ///< events settled so far; set by the settler or the committing worker
  /// No other instance may claim the delivery before this time. Set by the owner when the lease is renewed.
  std::atomic<std::chrono::steady_clock::time_point> leased_until{std::chrono::steady_clock::time_point::max()};
};

/// Of the topic of the run's events.
inline config::Unwrap unwrap_of(const Run& run) { return config::unwrap_of(*run.policy, run.lease.place->topic); }

/// An event of a report that is not done, but failed or skipped; `index` is its place in the run's events.
struct FailedEvent {
  std::size_t index = 0;
  event::Verdict verdict;
  std::chrono::milliseconds duration{0};
  /// waits: it was not called, because its key is blocked. parked: because its key is parked. expired: it is too old.
  /// early: its `deliver_at` has not come.
  enum class Kind { failed, waits, parked, expired, early };
  Kind kind = Kind::failed;
};

/// The verdicts on the neighbouring events [first, end) of a run's `events`: all are done, except the events in
/// `failed`.
struct Report {
  std::shared_ptr<Run> run;
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<FailedEvent> failed;  ///< by index
};

}  // namespace inboxd::settler
