#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "claimer/database.hpp"
#include "claimer/suspects.hpp"
#include "queue/claimer_signals.hpp"
#include "queue/in_flight.hpp"
#include "settler/database_backoff.hpp"
#include "settler/settler.hpp"

namespace inboxd::dispatcher {

/// The thread that asks the database on behalf of all handlers: for each class of questions, leases first, it visits
/// each handler in turn, asks its next question and gives it the answer. While the connection fails, all handlers wait.
/// When the database refuses a question of a handler, that handler's class of questions waits alone.
class Claimer final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    Suspects::Limits suspects;
    std::chrono::milliseconds turn{1'000};  ///< the longest sleep of the loop
    /// The statements of a claim together, and all renewals together, may take half of the shortest lease at stake, so
    /// that it is renewed in time; at least this long, however short the lease is.
    std::chrono::milliseconds min_deadline{1'000};
    settler::DatabaseBackoff::Limits backoff;
  };

  Claimer(AskDatabase ask_database, std::shared_ptr<ClaimerSignals> signals, ListHandlers list_handlers,
          settler::Settler& settler, base::Logger& log, Limits limits);
  ~Claimer();
  Claimer(const Claimer&) = delete;
  Claimer& operator=(const Claimer&) = delete;

  void start();
  /// The thread tries once to release the handlers' leases in the database, and ends. Claims end before, when the
  /// handlers are closed.
  void request_stop();
  void join();
  bool is_running() const { return thread_.joinable(); }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  struct Retry {
    settler::DatabaseBackoff backoff;
    Clock::time_point not_before{};
  };
  using Retries = std::array<Retry, classes>;  ///< of a handler

  void run();
  void serve(Handlers handlers);
  void serve_isolated(const Handlers& handlers);
  void visit_all(const Handlers& handlers, Class of);
  void visit_leases(const Handlers& handlers);
  void visit(InFlight& handler, Class of);
  std::optional<inbox::DatabaseFailure> ask_all(InFlight& handler, Class of);
  std::optional<inbox::DatabaseFailure> ask(InFlight& handler, Request request);
  void read_holds(const Handlers& handlers);
  void find_due(const Handlers& handlers);
  Answer ask_database(const Request& request);
  void limit_visits(const Handlers& handlers);
  bool is_blocked() const { return Clock::now() < blocked_until_; }
  Clock::time_point next_turn(Clock::time_point now);
  Retry& retry_of(const InFlight& handler, Class of);

  const AskDatabase ask_database_;
  const std::shared_ptr<ClaimerSignals> signals_;
  const ListHandlers list_handlers_;
  base::Logger& log_;
  const Limits limits_;
  std::atomic<bool> stopping_{false};
  base::Heartbeat heartbeat_;

  // The thread's own.
  std::map<std::int32_t, Retries> retries_;  ///< by handler
  Retry holds_;  ///< of their reading
  Clock::time_point next_holds_{};
  Clock::time_point next_leases_{};
  VisitLimit visit_limit_;
  int session_ = 0;
  settler::DatabaseBackoff backoff_;  ///< of the connection, for all handlers
  Clock::time_point blocked_until_{};
  Suspects suspects_;

  std::thread thread_;
};

}  // namespace inboxd::dispatcher
