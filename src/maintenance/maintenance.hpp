#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::maintenance {

/// The housekeeping that has no hurry: day partitions ahead of time, what is kept no longer, history that new handlers
/// are owed, the sign of life in table instance, and an alarm for whoever pins vacuum. One thread, one connection,
/// small bites. Construct → start() → request_stop() → join().
class Maintenance final {
 public:
  Maintenance(const config::Settings& settings, inbox::InstanceIdentity identity, inbox::Watchdog& watchdog,
              base::Logger& log);
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  void start();
  void request_stop();
  void join();
  /// From a reload. Any thread.
  void set_retention(const config::Retention& retention);
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
  void sign_of_life();
  void backfill();
  void make_partitions();
  void purge();
  void trim_positions();
  /// Repeats while a bite was a whole one and nobody wants to stop.
  void in_bites(const std::function<std::int64_t()>& bite);
  void look_for_pinned_snapshot();

  const inbox::InstanceIdentity identity_;
  base::Logger& log_;
  inbox::Connection connection_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;                      // guarded, like the next, by mutex_
  config::Retention retention_;
  std::atomic<std::int64_t> last_moved_{0};
  std::thread thread_;
};

}  // namespace inboxd::maintenance
