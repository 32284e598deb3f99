#pragma once
#include <memory>
#include <optional>
#include <string>

#include "admin/gate.hpp"
#include "admin/http_server.hpp"
#include "admin/page_key.hpp"
#include "admin/plans.hpp"
#include "base/logger.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"
#include "operations/operation.hpp"
#include "operations/running_daemon.hpp"

namespace inboxd::admin {

/// The admin port: health checks, metrics and every operation over HTTP. A thread has the sockets and
/// answers health checks. Another one answers metrics. A third one runs operations, with a database connection of its
/// own, opened on demand. Construct → start() → request_stop() → join().
class AdminPort final {
 public:
  /// `daemon` outlives it.
  AdminPort(const config::Settings& settings, operations::RunningDaemon& daemon, base::Logger& log);
  ~AdminPort();
  AdminPort(const AdminPort&) = delete;
  AdminPort& operator=(const AdminPort&) = delete;

  /// Opens the configured listeners; does nothing if the port is off.
  std::optional<ListenProblem> start();
  void request_stop();
  void join();

  const HttpServer::Counts& counts() const { return server_.counts(); }

 private:
  using Outcome = HttpServer::Outcome;
  Outcome respond(const HttpRequest& request);
  Outcome respond_to_operation(const HttpRequest& request, const operations::Operation& operation);
  HttpResponse health(operations::Probe probe) const;
  struct Caller {
    std::string actor;
    bool has_token = false;  ///< a valid token: the gate refuses others
    bool may_change = false;
    std::string plan = {};   ///< its name; empty: none
  };
  HttpResponse operate(const operations::Operation& operation, const operations::Arguments& arguments,
                       const Caller& caller, const std::atomic<bool>& nobody_waits);

  const config::Admin settings_;
  const config::Database database_;
  const std::string name_space_, schema_;
  const std::vector<config::Topic> topics_;
  operations::RunningDaemon& daemon_;
  base::Logger& log_;
  PageKey page_key_;
  const Gate gate_;
  Plans plans_;
  const std::vector<operations::Operation> operations_;
  const std::string openapi_;
  inbox::Watchdog watchdog_;
  inbox::Connection connection_;  ///< used by the lane of operations only
  HttpServer server_;
};

}  // namespace inboxd::admin
