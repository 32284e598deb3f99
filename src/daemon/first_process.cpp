#include "daemon/first_process.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace inboxd::daemon {
namespace {

/// Added to the number of the signal that ended a process, as shells do.
constexpr int signal_base = 128;

int status_of(int how) { return WIFSIGNALED(how) ? signal_base + WTERMSIG(how) : WEXITSTATUS(how); }

/// Reaps all ended children. The daemon's exit status, once it is among them.
std::optional<int> reap(pid_t daemon) {
  for (;;) {
    int how = 0;
    const pid_t ended = waitpid(-1, &how, WNOHANG);
    if (ended == daemon) return status_of(how);
    if (ended == 0 || (ended < 0 && errno != EINTR)) return std::nullopt;
  }
}

}  // namespace

std::optional<int> run_as_first_process() {
  if (getpid() != 1) return std::nullopt;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t daemon = fork();
  if (daemon <= 0) {  // without a child, this process runs the daemon
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return std::nullopt;
  }
  for (;;) {
    siginfo_t from{};
    const int signal = sigwaitinfo(&all, &from);
    if (signal == SIGCHLD) {
      if (const auto status = reap(daemon)) return status;
    } else if (signal > 0 && from.si_code != SI_KERNEL) {  // a terminal's signal reaches the whole process group
      kill(daemon, signal);
    }
  }
}

}  // namespace inboxd::daemon
