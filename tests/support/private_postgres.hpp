#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/environment.hpp"
#include "support/process.hpp"

namespace inboxd::support {

/// A PostgreSQL cluster of one test: to stop, to set back to an earlier state, to configure as no shared one may be.
/// It does not fsync: it outlives its processes, not the machine.
class PrivatePostgres final {
 public:
  /// `lines` for postgresql.conf; `environment` of the server.
  explicit PrivatePostgres(const std::vector<std::string>& lines = {},
                           std::map<std::string, std::string> environment = {});
  /// A standby that streams from another cluster, asynchronously; it takes questions, and writes once it is promoted.
  static std::unique_ptr<PrivatePostgres> standby_of(const PrivatePostgres& primary);
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  std::string url() const;
  int port() const { return port_; }

  void start();  ///< nothing where it runs
  void stop();  ///< at once, as a crash would; what was committed stays
  bool is_running() const { return server_ != nullptr; }

  /// A copy of the whole cluster as it is now (it stops for that), and back to it, as a restore from a backup would.
  void snapshot();
  void restore();

  /// A standby takes writes from now on.
  void promote();

  /// A line for postgresql.conf that a running server reads.
  void configure(const std::string& line);
  /// Commits wait for a standby that is not there, from the moment that this returns.
  void lose_standby();

 private:
  struct Streaming {
    const PrivatePostgres& from;
  };
  explicit PrivatePostgres(Streaming standby);
  void copy(const std::filesystem::path& from, const std::filesystem::path& to);

  std::string user_;
  std::string programs_;
  std::map<std::string, std::string> environment_;
  int port_;
  TempFolder folder_;
  std::unique_ptr<Process> server_;
};

}  // namespace inboxd::support
