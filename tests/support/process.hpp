#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/wait.hpp"

namespace inboxd::support {

struct Command {
  std::vector<std::string> arguments;                   ///< the program first: a path, or a name that $PATH finds
  std::map<std::string, std::string> environment = {};  ///< in addition to this process's
  std::string user = {};                                ///< user if this process is root; empty: the same
  std::filesystem::path out = "/dev/null";              ///< appended to
  std::filesystem::path err = "/dev/null";
};

struct ExitStatus {
  int code = -1;  ///< -1: ended by a signal
  int signal = 0;
  bool operator==(const ExitStatus&) const = default;
};

/// A child process, killed with this object, and by the kernel with this process. Start it from a thread that outlives
/// it.
class Process final {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  void signal(int number);
  bool is_running();
  /// Waits for the exit; throws at the timeout.
  ExitStatus wait(milliseconds within = patience);
  /// SIGKILL, then waits.
  void kill();

 private:
  pid_t id_ = 0;
  std::optional<ExitStatus> ended_;
};

struct Finished {
  ExitStatus status;
  std::string out;
  std::string err;
};

Finished run_to_end(Command command, milliseconds within = patience);

/// 0 if there is no such process.
std::size_t resident_bytes(pid_t process);

}  // namespace inboxd::support
