#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "inbox/claim.hpp"
#include "settler/policy.hpp"

namespace inboxd::settler {

struct Run;

/// Whoever has runs in hand and waits for what becomes of them. Called by the settler's thread; must not block.
class Holder {
 public:
  virtual ~Holder() = default;

  /// That many more events of the run are recorded, whatever became of them.
  virtual void settled(const Run& run, std::int64_t events) = 0;

  /// The run is no longer ours: what was reported of it was dropped, and nothing more will be recorded.
  virtual void lost(const Run& run) = 0;

  /// Events were split off to be tried again at that time.
  virtual void retry_at(std::chrono::steady_clock::time_point due) = 0;
};

/// A delivery in hand, from its lease to its last settlement. Shared by the one who hands it out and the settler.
struct Run {
  Run(inbox::LeasedRun leased, config::Retry policy, std::shared_ptr<Holder> whose, std::string handler_name)
      : lease{std::move(leased)},
        retry{std::move(policy)},
        holder{std::move(whose)},
        handler{std::move(handler_name)} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::size_t size() const { return lease.events.size(); }

  const inbox::LeasedRun lease;
  const config::Retry retry;
  const std::shared_ptr<Holder> holder;
  const std::string handler;             ///< its name, for the log
  std::atomic<bool> lost{false};         ///< set by the settler; reports of it are dropped from then on
  std::atomic<std::size_t> recorded{0};  ///< events settled so far; by whoever settles
  /// Until when nobody else may take it for certain; by whoever renews its lease.
  std::atomic<std::chrono::steady_clock::time_point> ours_until{std::chrono::steady_clock::time_point::max()};
};

/// One event of a report that was not done; `index` is its place in the run's events.
struct Failed {
  std::size_t index = 0;
  Verdict verdict;
  std::chrono::milliseconds duration{0};
};

/// What became of neighbouring events [first, end) of a run's `events`: all are done but those in `failed`.
struct Report {
  std::shared_ptr<Run> run;
  std::size_t first = 0;
  std::size_t end = 0;
  std::vector<Failed> failed;  ///< by index
};

}  // namespace inboxd::settler
