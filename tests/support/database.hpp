#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/wait.hpp"

struct pg_conn;

namespace inboxd::support {

/// A test's connection. For a single thread at a time. SQL is written for schema `inbox.`; the test's schema replaces
/// it. Throws std::runtime_error with the server's message. Reconnects by itself after the server was down.
class Session final {
 public:
  Session(std::string url, std::string schema);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  using Row = std::vector<std::optional<std::string>>;
  using Parameters = std::vector<std::optional<std::string>>;

  /// Several statements are allowed without parameters.
  std::vector<Row> rows(std::string_view sql, const Parameters& parameters = {});
  void run(std::string_view sql, const Parameters& parameters = {}) { rows(sql, parameters); }
  /// The first column of the first row.
  std::string text(std::string_view sql, const Parameters& parameters = {});
  std::int64_t number(std::string_view sql, const Parameters& parameters = {});
  std::vector<std::string> columns(std::string_view sql);
  bool is_up();
  void wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within = patience);
  void close();

 private:
  pg_conn* open();

  std::string url_;
  std::string schema_;
  pg_conn* connection_ = nullptr;
};

/// A new schema, dropped at the end. The daemon (or inbox::migrate) creates it. Declare it before its users.
class Database final {
 public:
  Database();  ///< on the shared server
  explicit Database(std::string url);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& url() const { return url_; }
  const std::string& schema() const { return schema_; }
  Session& session() { return session_; }

  std::vector<Session::Row> rows(std::string_view sql, const Session::Parameters& parameters = {}) {
    return session_.rows(sql, parameters);
  }
  void run(std::string_view sql, const Session::Parameters& parameters = {}) { session_.run(sql, parameters); }
  std::string text(std::string_view sql, const Session::Parameters& parameters = {}) {
    return session_.text(sql, parameters);
  }
  std::int64_t number(std::string_view sql, const Session::Parameters& parameters = {}) {
    return session_.number(sql, parameters);
  }
  void wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within = patience) {
    session_.wait_for(what, sql, wanted, within);
  }

 private:
  std::string url_;
  std::string schema_;
  Session session_;
};

/// Runs sql/roles.sql for the schema; the roles are `PREFIX_owner`, `_ingest`, `_worker` and `_reader`. Throws with
/// psql's message.
void apply_roles(const Database& database, const std::string& prefix);

std::string url_with_port(const std::string& url, int port);
/// The URL of sessions with messages in German; nothing if the server's package lacks them.
std::optional<std::string> in_german(const std::string& url);
int port_of(const std::string& url);

}  // namespace inboxd::support
