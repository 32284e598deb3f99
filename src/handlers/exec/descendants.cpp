#include "descendants.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "child_processes.hpp"

namespace exec_handler {
namespace {

/// A process that forks faster than it is killed is left after this many rounds.
constexpr int max_rounds = 100;

}  // namespace

Descendants::Descendants() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<std::uint64_t, 2> random{};
  while (getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
  }
  variable_ = "INBOXD_CHILD=" + std::to_string(random[0]) + "-" + std::to_string(random[1]);
}

void Descendants::end() const {
  bool found = true;
  for (int round = 0; found && round < max_rounds; ++round) {
    found = false;
    for (const pid_t process : ChildProcesses::all().reap_orphans()) {
      if (!is_marked(process)) continue;
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
      found = true;  // its own children are orphans now
    }
  }
}

bool Descendants::is_marked(int process) const {
  std::ifstream file{"/proc/" + std::to_string(process) + "/environ", std::ios::binary};
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry == variable_) return true;
  }
  return false;
}

}  // namespace exec_handler
