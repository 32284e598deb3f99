#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/wait.hpp"

struct pg_conn;

namespace inboxd::support {

/// A connection of the test's own. One thread at a time. SQL is written for schema `inbox.`; this puts the test's in
/// its place. Throws std::runtime_error with the server's words; opens again by itself after the server was away.
class Session final {
 public:
  Session(std::string url, std::string schema);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  using Row = std::vector<std::optional<std::string>>;
  using Parameters = std::vector<std::optional<std::string>>;

  /// Several statements at once are fine where there are no parameters.
  std::vector<Row> rows(std::string_view sql, const Parameters& parameters = {});
  void run(std::string_view sql, const Parameters& parameters = {}) { rows(sql, parameters); }
  /// The first column of the first row; it has to be there.
  std::string text(std::string_view sql, const Parameters& parameters = {});
  std::int64_t number(std::string_view sql, const Parameters& parameters = {});
  /// Column names of the rows of a query.
  std::vector<std::string> columns(std::string_view sql);
  /// Whether the server answers.
  bool is_up();
  void wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within = patience);
  void close();

 private:
  pg_conn* open();

  std::string url_;
  std::string schema_;
  pg_conn* connection_ = nullptr;
};

/// A schema of the test's own, dropped with all that is in it at the end; its name is new each time. The daemon (or
/// inbox::migrate) makes it. Declare it before what works on it.
class Database final {
 public:
  Database();                          ///< on the server that all tests share
  explicit Database(std::string url);  ///< on another one
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& url() const { return url_; }
  const std::string& schema() const { return schema_; }
  Session& session() { return session_; }

  // The session's, for short.
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

/// Runs sql/roles.sql for the schema; its roles are `PREFIX_owner`, `_ingest`, `_worker` and `_reader`. Throws with
/// what psql says.
void apply_roles(const Database& database, const std::string& prefix);

/// The URL with another host and port: for a proxy or a pooler in between.
std::string url_with_port(const std::string& url, int port);
/// The URL of sessions to which the server speaks German; nothing where it cannot (its messages are in Debian's
/// package, but for images that leave languages out).
std::optional<std::string> in_german(const std::string& url);
int port_of(const std::string& url);

}  // namespace inboxd::support
