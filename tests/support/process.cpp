#include "support/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

std::string found(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string path = std::string{getenv("PATH") == nullptr ? "" : getenv("PATH")} + ":/usr/sbin:/usr/bin:/bin";
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  throw std::runtime_error{"the program " + program + " is not installed: run config/setup/install"};
}

int max_open(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) throw std::system_error{errno, std::generic_category(), path.string()};
  return fd;
}

/// Data for the child between fork and exec, where nothing may allocate: other threads may hold locks.
struct Prepared {
  explicit Prepared(const Command& command);

  std::string program;
  std::vector<std::string> texts;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  bool changes_user = false;
  uid_t user = 0;
  gid_t group = 0;
};

Prepared::Prepared(const Command& command) : program{found(command.arguments.at(0))} {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!command.environment.contains(text.substr(0, text.find('=')))) texts.push_back(text);
  }
  for (const auto& [name, value] : command.environment) texts.push_back(name + "=" + value);
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  if (!command.user.empty() && geteuid() == 0) {
    const passwd* const entry = getpwnam(command.user.c_str());
    if (entry == nullptr) throw std::runtime_error{"there is no user " + command.user};
    changes_user = true;
    user = entry->pw_uid;
    group = entry->pw_gid;
  }
}

[[noreturn]] void become(const Prepared& prepared, int out, int err, pid_t parent) {
  const int nothing = open("/dev/null", O_RDONLY);
  const bool redirected = dup2(nothing, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2;
  const bool is_user = !prepared.changes_user ||
                       (setgroups(0, nullptr) == 0 && setgid(prepared.group) == 0 && setuid(prepared.user) == 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (redirected && is_user && getppid() == parent) {
    execve(prepared.program.c_str(), prepared.arguments.data(), prepared.environment.data());
  }
  _exit(126);
}

ExitStatus status_of(int status) {
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

Process::Process(const Command& command) {
  const Prepared prepared{command};
  const int out = max_open(command.out);
  const int err = max_open(command.err);
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ == 0) become(prepared, out, err, parent);
  close(out);
  close(err);
  if (id_ < 0) throw std::system_error{errno, std::generic_category(), "fork"};
}

Process::~Process() { kill(); }

void Process::signal(int number) {
  if (!ended_) ::kill(id_, number);
}

bool Process::is_running() {
  if (ended_) return false;
  int status = 0;
  if (waitpid(id_, &status, WNOHANG) != id_) return true;
  ended_ = status_of(status);
  return false;
}

ExitStatus Process::wait(milliseconds within) {
  wait_until(
      "process " + std::to_string(id_) + " ends", [&] { return !is_running(); }, within);
  return *ended_;
}

void Process::kill() {
  if (ended_) return;
  ::kill(id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = status_of(status);
}

Finished run_to_end(Command command, milliseconds within) {
  const TempFolder folder;
  command.out = folder / "out";
  command.err = folder / "err";
  if (!command.user.empty()) std::filesystem::permissions(folder.path(), std::filesystem::perms{0777});
  Process process{command};
  const ExitStatus status = process.wait(within);
  return {status, read_file(command.out), read_file(command.err)};
}

std::size_t resident_bytes(pid_t process) {
  long pages = 0;
  long resident = 0;
  const std::string text = read_file("/proc/" + std::to_string(process) + "/statm");
  if (std::sscanf(text.c_str(), "%ld %ld", &pages, &resident) != 2) return 0;
  return static_cast<std::size_t>(resident) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace inboxd::support
