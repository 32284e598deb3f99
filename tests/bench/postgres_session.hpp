#pragma once
#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::bench {

/// A connection to PostgreSQL, for runs without inboxd and for checks. For a single thread. Every failure throws
/// std::runtime_error.
class PostgresSession final {
 public:
  using Result = std::shared_ptr<PGresult>;

  explicit PostgresSession(const std::string& url);

  void run(const std::string& sql);
  /// The first column of the first row.
  std::string text(const std::string& sql);
  std::int64_t number(const std::string& sql);
  double real(const std::string& sql);
  /// The first column of all rows.
  std::vector<std::string> column(const std::string& sql);

  void prepare(const std::string& name, const std::string& sql);
  /// A prepared statement with parameters and results in binary.
  Result call(const std::string& name, const std::vector<std::string_view>& parameters);

  /// Id of the server process.
  int process_id() const { return PQbackendPID(raw_.get()); }

 private:
  Result checked(PGresult* result, const std::string& what);

  std::unique_ptr<PGconn, void (*)(PGconn*)> raw_;
};

/// A new database on the server, dropped at the end.
class ScratchDatabase final {
 public:
  explicit ScratchDatabase(const std::string& server_url);
  ~ScratchDatabase();
  ScratchDatabase(const ScratchDatabase&) = delete;
  ScratchDatabase& operator=(const ScratchDatabase&) = delete;

  const std::string& url() const { return url_; }
  std::string url_at(const std::string& host, int port) const;

 private:
  std::string server_url_;
  std::string name_;
  std::string url_;
};

/// A setting of a libpq URL; empty if it is not set.
std::string url_part(const std::string& url, std::string_view keyword);

}  // namespace inboxd::bench
