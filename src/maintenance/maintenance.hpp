#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/repeats.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/handlers.hpp"
#include "inbox/operations_status.hpp"
#include "inbox/registrations.hpp"
#include "inbox/upkeep.hpp"
#include "maintenance/pinned.hpp"

namespace inboxd::maintenance {

/// How long nothing is counted after a count that took so long.
std::chrono::nanoseconds pause_after_count(std::chrono::nanoseconds took);

/// How many blocks of the ledger the next bite looks through, after one of so many that took so long: fewer where a
/// bite could come near a statement's deadline.
int next_blocks(int blocks, std::chrono::nanoseconds took);

/// The housekeeping that has no hurry: day partitions ahead of time, what is kept no longer, history that new handlers
/// are owed, the sign of life in table instance, and an alarm for whoever pins vacuum. One thread, one connection,
/// small bites, and none keeps the others waiting for long. Construct → start() → request_stop() → join().
class Maintenance final {
 public:
  /// What was last seen in the database, for metrics.
  struct Seen {
    std::vector<inbox::HandlerState> handlers;
    std::int64_t quarantined = 0;
    std::int64_t at_us = 0;                    ///< wall clock; 0: nothing yet
    std::int64_t answered_us = 0;              ///< when it took a sign of life: counting may fail by itself
    std::int64_t days_until_s = 0;             ///< when the first day begins that has no partition; 0: not known yet
    std::chrono::seconds pinned{0};            ///< age of a transaction that pins vacuum; 0: none
  };

  /// Who did what, for table audit.
  struct Deed {
    std::string actor, operation, target;
  };

  /// What this process cannot do now, in a sentence.
  using Trouble = std::function<std::optional<std::string>()>;

  /// `registrations`: the handlers that this process runs, which are put back where the database forgets them.
  Maintenance(const config::Settings& settings, inbox::InstanceIdentity identity, inbox::Registrations& registrations,
              Trouble trouble, inbox::Watchdog& watchdog, base::Logger& log);
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  void start();
  void request_stop();
  void join();
  /// One of them is known under another id: somebody else has put it back as a new one. Only a restart helps.
  bool failed() const { return failed_; }
  /// From a reload. Any thread.
  void set_retention(const config::Retention& retention);
  /// Written into table audit when the database takes it; the last hundred wait for that. Any thread.
  void note(Deed deed);
  /// Any thread.
  Seen seen() const;
  std::int64_t last_moved() const { return last_moved_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Something done every so often.
  struct Chore {
    void (Maintenance::*work)();
    std::chrono::seconds every;
    Clock::time_point next{};
  };

  void run();
  bool is_stopping();
  /// Now and then, and as soon as there is other trouble to tell.
  void sign_of_life();
  void keep_handlers();
  void put_back(const std::vector<inbox::Registered>& registered);
  void look_for_retired(const std::vector<inbox::Registered>& registered);
  std::optional<std::string> trouble() const;
  void write_deeds();
  void backfill();
  void make_partitions();
  void look_at_days();
  void purge();
  void drop_days(const char* table, std::chrono::milliseconds keep);
  void tell_kept_day(std::chrono::milliseconds keep);
  void trim_ledger();
  void trim_positions();
  config::Retention retention() const;
  /// Repeats while a bite says that there is more and the chore goes on.
  void in_bites(const std::function<bool()>& bite);
  /// For the watchdog. A chore says it before each bite: all of them may take longer than a loop may stand still.
  void move();
  /// Between two bites of a chore: whether it goes on now. Not where somebody wants to stop, nor where its turn has
  /// been long: then it comes again as soon as the others had theirs.
  bool goes_on();
  /// One turn of a chore that is due.
  void do_turn(Chore& chore);
  void look_for_oldest_transaction();
  /// Counts what is outstanding, now and then, whether it works or not.
  void look_around();
  void count();

  const inbox::InstanceIdentity identity_;
  inbox::Registrations& registrations_;
  const Trouble trouble_;
  base::Logger& log_;
  base::Repeats repeats_;
  inbox::Connection connection_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;                      // guarded, like the next, by mutex_
  config::Retention retention_;
  Seen seen_;
  std::deque<Deed> deeds_;
  Clock::time_point look_again_{};  ///< the thread's own, like the next ten
  Clock::time_point turn_ends_{};
  Clock::time_point sign_again_{};
  std::optional<std::string> told_trouble_;  ///< with the last sign of life
  Clock::time_point tell_kept_at_{};
  bool has_more_ = false;                      ///< the chore's turn ended before its work did
  inbox::Backfilled backfilled_;               ///< since it was last said
  std::int64_t trimmed_ids_ = 0;               ///< since it was last said
  int blocks_ = 64;                            ///< of the ledger's next bite
  Pinned pinned_;
  int kept_under_ = 0;                ///< the session under which handlers were last looked after
  std::vector<std::string> retired_;  ///< of our handlers, as last seen
  std::atomic<std::int64_t> last_moved_{0};
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace inboxd::maintenance
