#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/generations.hpp"
#include "maintenance/turn.hpp"

namespace inboxd::maintenance {

/// The number of blocks for the next batch of a scan, given the last batch's number and duration. Shrinks before a
/// batch comes near a statement's deadline.
int next_blocks(int blocks, std::chrono::nanoseconds took);

/// The generations of the ledger: begins and drops them, and keeps the filters of the frozen ones in memory. Each task
/// is a turn on the maintenance thread.
class Generations final {
 public:
  Generations(const config::Settings& settings, inbox::LedgerFilters& filters, inbox::Connection& connection,
              Turn& turn, base::Logger& log);

  /// Freezes the current generation if it is due, and drops generations past `retention.ledger`.
  void turn_over();
  /// Loads the stored filters, and makes those that no instance has stored.
  void load_filters();

  /// From a reload. Any thread.
  void set_retention(const config::Settings& settings);

 private:
  using Clock = std::chrono::steady_clock;

  /// A filter that is being made from the blocks of its generation.
  struct Making {
    inbox::StoredGeneration of;
    std::shared_ptr<inbox::IdFilter> filter;
    std::int64_t next_block = 0;
  };

  config::Keep keep() const;
  std::vector<inbox::StoredGeneration> wanted();
  bool load_or_make(const inbox::StoredGeneration& generation);
  bool make_on();

  inbox::LedgerFilters& filters_;
  inbox::Connection& connection_;
  Turn& turn_;
  base::Logger& log_;
  const config::Ledger settings_;
  std::unique_ptr<Making> making_;
  std::set<std::int64_t> damaged_;  ///< keys of filters whose stored parts do not match their digests: made again
  bool left_out_ = false;           ///< filters, for want of memory; logged once
  int blocks_ = 64;                 ///< of the next batch
  Clock::time_point next_try_{};    ///< to drop a generation, after a position or a lock kept it
  mutable base::Mutex mutex_;
  config::Keep keep_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::maintenance
