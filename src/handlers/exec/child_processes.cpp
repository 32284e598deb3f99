#include "child_processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

namespace exec_handler {
namespace {

/// The kernel makes orphans children of the first thread. Children of other threads are among them only once their
/// thread has ended.
std::vector<pid_t> children_of_first_thread() {
  const std::string self = std::to_string(getpid());
  std::ifstream file{"/proc/self/task/" + self + "/children"};
  return {std::istream_iterator<pid_t>{file}, std::istream_iterator<pid_t>{}};
}

}  // namespace

ChildProcesses& ChildProcesses::all() {
  static ChildProcesses out;
  return out;
}

int ChildProcesses::take_status(pid_t program) {
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const inboxd::base::Lock lock{mutex_};
  int status = 0;
  waitpid(program, &status, WNOHANG);
  programs_.erase(program);
  return status;
}

std::vector<pid_t> ChildProcesses::reap_orphans() {
  const inboxd::base::Lock lock{mutex_};
  std::vector<pid_t> living;
  for (const pid_t child : children_of_first_thread()) {
    if (programs_.contains(child)) continue;
    siginfo_t ended{};
    const bool is_child = waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (!is_child) continue;
    if (ended.si_pid == 0) living.push_back(child);
    else if (getpgid(child) != getpgrp()) waitpid(child, nullptr, WNOHANG);
  }
  return living;
}

}  // namespace exec_handler
