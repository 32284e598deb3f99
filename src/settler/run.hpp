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
#include "event/verdict.hpp"
#include "inbox/claim.hpp"

namespace inboxd::settler {

struct Run;

/// The part of the program that has a run in flight and learns its outcomes. Called by the settler's thread, or by the
/// worker that committed the outcomes; must not block.
class RunOwner {
 public:
  virtual ~RunOwner() = default;

  /// The outcomes of that many more events of the run are recorded.
  virtual void settled(const Run& run, std::int64_t events) = 0;

  /// The lease is lost: reports of the run were dropped, and none will be recorded.
  virtual void lost(const Run& run) = 0;

  /// Events of the run were split off; their retry is due at that time.
  virtual void retry_at(std::chrono::steady_clock::time_point due) = 0;
};

/// A delivery in flight, from its lease to its last settlement. Shared by its owner, the workers and the settler.
struct Run {
  Run(inbox::LeasedRun leased, config::Retry policy, std::shared_ptr<RunOwner> run_owner, std::string handler_name)
      : lease{std::move(leased)},
        retry{std::move(policy)},
        owner{std::move(run_owner)},
        handler{std::move(handler_name)} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::size_t size() const { return lease.events.size(); }

  const inbox::LeasedRun lease;
  const config::Retry retry;
  const std::shared_ptr<RunOwner> owner;
  const std::string handler;             ///< its name, for the log
  std::atomic<bool> lost{false};         ///< reports of the run are dropped from then on
  std::atomic<std::size_t> recorded{0};  ///< events settled so far; set by the settler or the committing worker
  /// No other instance may claim the delivery before this time. Set by the owner when the lease is renewed.
  std::atomic<std::chrono::steady_clock::time_point> leased_until{std::chrono::steady_clock::time_point::max()};
};

/// An event of a report that is not done; `index` is its place in the run's events.
struct FailedEvent {
  std::size_t index = 0;
  event::Verdict verdict;
  std::chrono::milliseconds duration{0};
};

/// The verdicts on the neighbouring events [first, end) of a run's `events`: all are done, except those in `failed`.
struct Report {
  std::shared_ptr<Run> run;
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<FailedEvent> failed;  ///< by index
};

}  // namespace inboxd::settler
