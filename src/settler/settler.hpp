#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/watchdog.hpp"
#include "settler/failure_log.hpp"
#include "settler/gathering.hpp"
#include "settler/run.hpp"
#include "settler/store.hpp"
#include "settler/tallies.hpp"
#include "settler/trouble.hpp"

namespace inboxd::settler {

/// Records what became of events: gathers the workers' reports by run and writes them in batches, each guarded by its
/// fence. A service with one thread and one connection. What is reported and not recorded yet is bounded by what its
/// holders have in hand, because they learn of it (Holder) only when it is recorded or lost.
class Settler final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::chrono::milliseconds linger{5};    ///< a finished run waits so long for others to share its transaction
    std::chrono::milliseconds hold{50};     ///< an unfinished one, for the rest of it: one deletion, not many updates
    std::size_t deliveries = 500;           ///< in one transaction
    std::chrono::milliseconds turn{1'000};  ///< the loop moves at least so often, if only to show that it lives
    Trouble::Limits trouble;
  };

  /// Since start. `lost` counts deliveries, the others events. For metrics; read by any thread.
  struct Counters {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> retried{0};
    std::atomic<std::uint64_t> dead{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<std::uint64_t> transactions{0};
  };

  Settler(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log);
  Settler(std::unique_ptr<Store> store, base::Logger& log, Limits limits);
  ~Settler();
  Settler(const Settler&) = delete;
  Settler& operator=(const Settler&) = delete;

  void start();
  /// Holds nothing back any more; the thread ends when all that was reported is recorded.
  void request_stop();
  /// Waits for that. After the deadline it gives up at the next failure (so at the latest when a statement's own
  /// deadline passes): what is not recorded then runs again when its lease has run out.
  void join(Clock::time_point deadline);

  /// What became of events of runs, in any order, each event once. Any thread; never blocks on the database.
  void report(std::vector<Report> reports);

  /// Counts what somebody else recorded in a transaction of his own, or lost. Any thread.
  void note_elsewhere(const Run& run, const Gathered& recorded);
  void note_lost_elsewhere(const Run& run);

  /// Waits until everything that was reported before is recorded, holding nothing back; false at the deadline.
  bool flush(Clock::time_point deadline);

  /// Nothing is reported that is not recorded.
  bool idle() const { return unrecorded_.load() == 0; }
  const Counters& counters() const { return counters_; }
  /// By handler; also for those who settle inside transactions of their own.
  Tallies& tallies() { return tallies_; }
  const Tallies& tallies() const { return tallies_; }
  /// When the loop last moved: a service manager's watchdog hangs on it.
  Clock::time_point last_progress() const;

 private:
  /// A run with something to record.
  struct Held {
    Gathering gathering;
    std::uint64_t ticket = 0;  ///< tells it from an older one of the same run
    Clock::time_point since;   ///< of the first report
    bool is_finished = false;  ///< is in finished_; the last of its events may have been recorded elsewhere, too
  };
  struct Due {
    Clock::time_point since;
    std::uint64_t ticket = 0;
    const Run* run = nullptr;
  };
  struct Batch {
    std::vector<inbox::Settlement> settlements;
    std::vector<Gathered> sums;  ///< of the same; their settlements are moved out
    std::vector<std::shared_ptr<Run>> runs;
  };

  void run();
  std::vector<Report> collect();
  bool is_due(Clock::time_point now) const;
  Clock::time_point next_turn(Clock::time_point now) const;
  void gather(std::vector<Report> reports);
  Batch take_batch(Clock::time_point now);
  void take_from(std::deque<Due>& queue, std::optional<Clock::time_point> older_than, Batch& batch);
  bool write(Batch& batch);
  /// What was recorded of a run, in every figure and in the log.
  void count(const Run& run, const Gathered& sum, const inbox::Settlement& settlement, Clock::time_point now);
  void note_recorded(Batch& batch, const std::vector<inbox::LeaseKey>& lost, bool was_in_doubt);
  void note_lost(Run& run);
  bool pause(std::chrono::milliseconds wait);
  void finish_flush();
  void progress();

  const std::unique_ptr<Store> store_;
  base::Logger& log_;
  const Limits limits_;
  Counters counters_;
  Tallies tallies_;
  FailureLog failures_;
  std::atomic<std::int64_t> unrecorded_{0};  ///< events
  std::atomic<Clock::rep> progress_{0};

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::vector<Report> reports_;
  bool sleeping_ = false;  ///< the thread waits for a report, not for a time
  bool stopping_ = false;
  Clock::time_point give_up_ = Clock::time_point::max();
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flushed_ = 0;

  // The thread's own.
  std::unordered_map<const Run*, Held> held_;
  std::deque<Due> finished_;    ///< complete runs, oldest first
  std::deque<Due> unfinished_;  ///< all others, oldest first; those since completed are stale
  std::uint64_t next_ticket_ = 1;
  std::uint64_t flushing_ = 0;
  bool hurry_ = false;  ///< hold nothing back: flush or stop
  Trouble trouble_;

  std::thread thread_;
};

}  // namespace inboxd::settler
