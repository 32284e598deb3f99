#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/wait.hpp"

namespace inboxd::support {

/// A program to start.
struct Command {
  std::vector<std::string> arguments;                   ///< the program first: a path, or a name that $PATH finds
  std::map<std::string, std::string> environment = {};  ///< beside what this process has
  std::string user = {};                                ///< as whom, where this process is root; empty: as itself
  std::filesystem::path out = "/dev/null";              ///< appended to
  std::filesystem::path err = "/dev/null";
};

struct ExitStatus {
  int code = -1;  ///< -1: ended by a signal
  int signal = 0;
  bool operator==(const ExitStatus&) const = default;
};

/// A child process: killed when this object ends, and by the kernel when this process does. Start it from a thread
/// that outlives it.
class Process final {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  void signal(int number);
  bool is_running();
  /// Waits for its end; throws where it does not come in time.
  ExitStatus wait(milliseconds within = patience);
  /// SIGKILL, and waits for its end.
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

/// Runs a program to its end.
Finished run_to_end(Command command, milliseconds within = patience);

/// Resident memory of a process in bytes; 0 where there is none.
std::size_t resident_bytes(pid_t process);

}  // namespace inboxd::support
