#pragma once
#include <memory>
#include <optional>
#include <string>

#include "admin/gate.hpp"
#include "admin/http_server.hpp"
#include "admin/live.hpp"
#include "admin/operation.hpp"
#include "base/log.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::admin {

/// The admin port: health checks, metrics and every operation over HTTP. Threads of its own: one for the sockets,
/// which also answers health checks, one that writes metrics, one that works through operations, with a database
/// connection that is opened when it is needed. Construct → start() → request_stop() → join().
class AdminPort final {
 public:
  /// `live` outlives it.
  AdminPort(const config::Settings& settings, Live& live, base::Logger& log);
  ~AdminPort();
  AdminPort(const AdminPort&) = delete;
  AdminPort& operator=(const AdminPort&) = delete;

  /// Opens the configured ways in; does nothing where the port is off.
  std::optional<ListenProblem> start();
  void request_stop();
  void join();

  const HttpServer::Counts& counts() const { return server_.counts(); }

 private:
  using Outcome = std::variant<HttpResponse, LaneWork>;
  Outcome respond(const HttpRequest& request);
  Outcome respond_to_operation(const HttpRequest& request, const Operation& operation);
  HttpResponse health(Probe probe) const;
  HttpResponse operate(const Operation& operation, const Arguments& arguments, const std::string& actor,
                       const std::atomic<bool>& nobody_waits);

  const config::Admin settings_;
  const config::Database database_;
  const std::string name_space_, schema_;
  Live& live_;
  base::Logger& log_;
  const Gate gate_;
  const std::vector<Operation> operations_;
  const std::string openapi_;
  inbox::Watchdog watchdog_;
  inbox::Connection connection_;  ///< of the operations' lane
  HttpServer server_;
};

}  // namespace inboxd::admin
