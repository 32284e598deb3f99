#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/answer.hpp"
#include "inbox/settle.hpp"
#include "inbox/watchdog.hpp"
#include "settler/database_backoff.hpp"
#include "settler/outcomes.hpp"
#include "settler/run.hpp"
#include "settler/settlement.hpp"

namespace inboxd::settler {

/// The database as the settler uses it, or a fake of it. Called by a single thread; blocks.
class Store {
 public:
  virtual ~Store() = default;
  /// Opens the session.
  virtual std::optional<inbox::DatabaseFailure> open() { return std::nullopt; }
  /// Records all settlements in a single transaction; returns the keys of lost leases.
  virtual inbox::Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) = 0;
};

/// Records the outcomes of events: collects the workers' reports by run and writes them in batches, each settlement
/// guarded by its fence. A service with its own thread and connection. Its memory is bounded by the events in flight: a
/// run owner frees its room only when the settler reports events as settled or lost.
class Settler final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::chrono::milliseconds linger{5};        ///< a finished run waits for others to share its transaction
    std::chrono::milliseconds hold{50};         ///< an unfinished run waits for its rest: a delete, not many updates
    std::chrono::milliseconds awaited_hold{2};  ///< the hold while other events wait for the outcomes
    std::size_t deliveries = 500;               ///< in a transaction
    std::chrono::milliseconds turn{1'000};      ///< the longest sleep of the loop, which shows that it lives
    DatabaseBackoff::Limits backoff;
  };

  /// Since the start. `lost` counts deliveries, the others count events. For metrics; read by any thread.
  struct Counters {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> retried{0};
    std::atomic<std::uint64_t> dead{0};
    std::atomic<std::uint64_t> expired{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<std::uint64_t> transactions{0};
  };

  Settler(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log);
  Settler(std::unique_ptr<Store> store, base::Logger& log, Limits limits);
  ~Settler();
  Settler(const Settler&) = delete;
  Settler& operator=(const Settler&) = delete;

  void start();
  /// Stops holding reports back; the thread ends when everything reported is recorded.
  void request_stop();
  /// Waits for the thread. After the deadline the thread gives up at the next failure, at the latest when a statement's
  /// own deadline passes. Events that are not recorded by then run again when their lease has expired.
  void join(Clock::time_point deadline);

  /// Takes verdicts on events of runs, in any order, each event once. Any thread; never blocks on the database.
  /// `is_awaited`: events wait for these outcomes, so they are recorded at once.
  void report(std::vector<Report> reports, bool is_awaited = false);

  /// Counts and logs a settlement that a worker committed in a handler's transaction. Any thread.
  void count_committed(const Run& run, const RunSettlement& committed);
  /// Counts a lease that a worker found lost at its COMMIT. Any thread.
  void count_lost(const Run& run);

  /// Waits until everything reported before is recorded, and holds nothing back; false at the deadline.
  bool flush(Clock::time_point deadline);

  /// Everything reported is recorded.
  bool idle() const { return unrecorded_.load() == 0; }
  const Counters& counters() const { return counters_; }
  /// By handler, the outcomes that workers committed included.
  const OutcomeCounts& outcomes() const { return outcomes_; }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  /// A run with reports that are not recorded yet.
  struct ReportedRun {
    SettlementBuilder builder;
    std::uint64_t ticket = 0;  ///< tells it from an older entry of the same run
    Clock::time_point since;   ///< of the first report
    bool is_finished = false;  ///< is in finished_; a worker may have recorded the run's other events
  };
  struct QueuedRun {
    Clock::time_point since;
    std::uint64_t ticket = 0;
    const Run* run = nullptr;
  };
  /// A transaction's settlements; the four vectors have an entry for each run.
  struct Batch {
    std::vector<inbox::Settlement> settlements;
    std::vector<EventCounts> counts;
    std::vector<KeyEffects> keys;
    std::vector<std::shared_ptr<Run>> runs;
  };

  void run();
  std::vector<Report> collect();
  std::chrono::milliseconds hold() const;
  bool is_due(Clock::time_point now) const;
  Clock::time_point next_turn(Clock::time_point now) const;
  void add(std::vector<Report> reports);
  Batch take_batch(Clock::time_point now);
  void take_from(std::deque<QueuedRun>& queue, std::optional<Clock::time_point> older_than, Batch& batch);
  bool write(Batch& batch);
  void count(const Run& run, const inbox::Settlement& settlement, const EventCounts& counts, Clock::time_point now);
  void note_recorded(Batch& batch, const std::vector<inbox::LeaseKey>& lost, bool was_in_doubt);
  void note_lost(Run& run, std::int64_t events);
  bool pause(std::chrono::milliseconds wait);
  void finish_flush();

  const std::unique_ptr<Store> store_;
  base::Logger& log_;
  const Limits limits_;
  Counters counters_;
  OutcomeCounts outcomes_;
  FailureLog failures_;
  std::atomic<std::int64_t> unrecorded_{0};  ///< events
  base::Heartbeat heartbeat_;

  base::Mutex mutex_;
  base::Condition changed_;
  std::vector<Report> reports_ GUARDED_BY(mutex_);
  bool is_awaited_ GUARDED_BY(mutex_) = false;  ///< a report that came since the last turn
  bool sleeping_ GUARDED_BY(mutex_) = false;    ///< the thread waits for a report, without a time limit of its own
  bool stopping_ GUARDED_BY(mutex_) = false;
  Clock::time_point give_up_ GUARDED_BY(mutex_) = Clock::time_point::max();
  std::uint64_t flush_wanted_ GUARDED_BY(mutex_) = 0;
  std::uint64_t flushed_ GUARDED_BY(mutex_) = 0;

  // The thread's own.
  std::unordered_map<const Run*, ReportedRun> reported_;
  std::deque<QueuedRun> finished_;    ///< complete runs, oldest first
  std::deque<QueuedRun> unfinished_;  ///< the other runs, oldest first; entries of runs completed since are stale
  std::uint64_t next_ticket_ = 1;
  std::uint64_t flushing_ = 0;
  bool is_awaiting_ = false;  ///< events wait for outcomes in reported_
  bool flush_all_ = false;    ///< a flush or a stop was requested
  DatabaseBackoff backoff_;

  std::thread thread_;
};

}  // namespace inboxd::settler
