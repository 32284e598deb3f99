#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace inboxd::testing {

/// The folders that may hold PostgreSQL's programs: of $PATH, then where packages put them, the newest first.
std::vector<std::filesystem::path> program_folders();

/// A PostgreSQL server of this process, with an empty cluster in a temporary folder: started from the programs that are
/// installed, as user `postgres` if this process is root, reachable over a socket in the folder alone. It ends with
/// this object, and with this process if that is killed. Start it on a thread that outlives it.
class PrivateServer final {
 public:
  /// `folders`: searched for the programs. The problem names the remedy.
  static base::Result<std::unique_ptr<PrivateServer>> start(
      int connections, const std::vector<std::filesystem::path>& folders = program_folders());
  ~PrivateServer();
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  /// Of a superuser, in database `postgres`.
  std::string url() const;

 private:
  PrivateServer() = default;
  std::optional<base::Problem> make(const std::filesystem::path& programs);
  std::optional<base::Problem> serve(const std::filesystem::path& programs, int connections);
  base::Problem failure(const std::string& step) const;

  std::filesystem::path folder_;
  pid_t process_ = 0;
};

}  // namespace inboxd::testing
