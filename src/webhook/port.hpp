#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/http_server.hpp"
#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/repeats.hpp"
#include "config/settings.hpp"
#include "inbox/generations.hpp"
#include "inbox/watchdog.hpp"
#include "webhook/counts.hpp"
#include "webhook/endpoint.hpp"
#include "webhook/receiver.hpp"

namespace inboxd::webhook {

/// The port of ingest.listen: POST /v1/topics/TOPIC/events. A thread has the sockets, and checks and reads requests;
/// the receiver's thread stages their events. Construct → start() → request_stop() → join().
class Port final {
 public:
  /// All arguments outlive it.
  Port(const config::Settings& settings, const inbox::LedgerFilters& filters, inbox::Watchdog& watchdog,
       base::Logger& log);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// Opens the port; does nothing if it is off.
  std::optional<admin::ListenProblem> start();
  /// Requests that have arrived are stored and answered, unless the database is away.
  void request_stop();
  void join();
  /// For a reload: topics, tokens and secrets.
  void set_topics(const config::Settings& settings);

  bool is_on() const { return settings_.ingest.is_listening(); }
  const Counts& counts() const { return counts_; }
  const admin::HttpServer::Counts& connections() const { return server_.counts(); }
  std::int64_t waiting() const { return receiver_.waiting(); }
  const base::Heartbeat& heartbeat() const { return receiver_.heartbeat(); }

 private:
  using Outcome = admin::HttpServer::Outcome;
  Outcome respond(admin::HttpRequest& request);
  Outcome take(const Endpoint& endpoint, const std::string& topic, bool is_shared, admin::HttpRequest& request);
  void note(const admin::HttpServer::Answer& answer);
  std::shared_ptr<const Endpoints> endpoints() const;

  const config::Settings& settings_;
  base::Logger& log_;
  Counts counts_;
  base::Repeats repeats_;  ///< the server's thread
  mutable base::Mutex mutex_;
  std::shared_ptr<const Endpoints> endpoints_ GUARDED_BY(mutex_);
  Receiver receiver_;
  admin::HttpServer server_;
};

}  // namespace inboxd::webhook
