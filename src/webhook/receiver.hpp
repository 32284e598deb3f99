#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/http_server.hpp"
#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/repeats.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/generations.hpp"
#include "inbox/watchdog.hpp"
#include "webhook/posted.hpp"

namespace inboxd::webhook {

/// Stages the events of waiting requests: all that wait share a transaction, and are answered after its COMMIT. It has
/// its own thread and connection. Construct → start() → request_stop() → join().
class Receiver final {
 public:
  using Answer = std::function<void(admin::HttpServer::Answers)>;

  /// `answer` may be called until join() has returned. All arguments outlive it.
  Receiver(const config::Settings& settings, const inbox::LedgerFilters& filters, inbox::Watchdog& watchdog,
           base::Logger& log, Answer answer);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void start();
  /// The requests that wait are still stored, unless the database is away.
  void request_stop();
  void join();

  /// The database does not answer, or the daemon stops: requests are refused. Any thread.
  bool is_away() const { return is_away_; }
  /// Whether a request of that many bytes may wait, too. `is_shared`: several topics take events, and none of them may
  /// use more than half of the limits. Any thread.
  bool has_room(const std::string& topic, std::size_t bytes, bool is_shared) const;
  void add(std::shared_ptr<Posted> posted, admin::Ticket ticket);
  std::int64_t waiting() const;
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  struct Waiting {
    std::shared_ptr<Posted> posted;
    admin::Ticket ticket;
  };
  using Round = std::vector<Waiting>;
  /// Requests in the queue or in the round that is being stored.
  struct Load {
    std::size_t requests = 0;
    std::size_t bytes = 0;  ///< of their bodies
  };

  void release(const Posted& posted);
  void run();
  void look_for_database();
  Round take();
  void store(const Round& round);
  void fail(const Round& round, const inbox::DatabaseFailure& failure);
  void answer(const Round& round, const std::function<admin::HttpResponse(const Posted&)>& response_to);

  const config::Settings& settings_;
  const inbox::LedgerFilters& filters_;
  base::Logger& log_;
  const Answer answer_;
  base::Heartbeat heartbeat_;
  std::atomic<bool> is_away_{false};

  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  Load load_ GUARDED_BY(mutex_);
  std::map<std::string, Load> by_topic_ GUARDED_BY(mutex_);  ///< of topics with waiting requests
  bool stopping_ GUARDED_BY(mutex_) = false;

  // Used by the thread alone.
  inbox::Connection connection_;
  base::Repeats repeats_;
  std::thread thread_;
};

/// 503 with Retry-After.
admin::HttpResponse unavailable(const std::string& message);

}  // namespace inboxd::webhook
