#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A PostgreSQL cluster of a test, which may stop, restore and configure it. Without fsync: it survives crashes of its
/// processes, not of the machine.
class PrivatePostgres final {
 public:
  /// `lines` go into postgresql.conf.
  explicit PrivatePostgres(const std::vector<std::string>& lines = {},
                           std::map<std::string, std::string> environment = {});
  /// An asynchronous streaming standby.
  static std::unique_ptr<PrivatePostgres> standby_of(const PrivatePostgres& primary);
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  std::string url() const;
  int port() const { return port_; }

  void start();
  void stop();  ///< at once, like a crash; committed data stays
  bool is_running() const { return server_ != nullptr; }

  /// Copies or restores the whole cluster, which stops meanwhile.
  void snapshot();
  void restore();

  void promote();

  void configure(const std::string& line);
  /// Makes commits wait for a missing standby, from the return of this call on.
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
