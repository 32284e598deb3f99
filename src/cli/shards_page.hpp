#pragma once
#include <string>
#include <vector>

#include "admin/gate.hpp"
#include "admin/http_server.hpp"
#include "cli/session.hpp"
#include "cli/shards.hpp"

namespace inboxd::cli {

/// Serves the page with the reads of several databases as one, on a free port of this machine. Its key is the only way
/// in, and nothing can be changed: a change belongs to one database. Start it while SIGINT and SIGTERM are blocked
/// (Interrupt), as its threads inherit that. The destructor ends it.
class ShardsPage final {
 public:
  /// `session` outlives it.
  ShardsPage(const Session& session, std::vector<Shard> shards);
  ShardsPage(const ShardsPage&) = delete;
  ShardsPage& operator=(const ShardsPage&) = delete;

  /// Returns the problem; empty: it serves.
  std::string start();
  /// The page's address with its key.
  std::string link() const;

 private:
  using Outcome = admin::HttpServer::Outcome;
  Outcome respond(const admin::HttpRequest& request) const;
  admin::HttpResponse answer(const operations::Operation& operation, const operations::Arguments& arguments) const;

  const Session& session_;
  const std::vector<Shard> shards_;
  const std::vector<std::string> files_;
  const std::vector<operations::Operation> operations_;
  const config::Admin settings_;
  const std::string key_;
  const admin::Gate gate_;
  int port_ = 0;
  base::Logger log_;
  admin::HttpServer server_;
};

}  // namespace inboxd::cli
