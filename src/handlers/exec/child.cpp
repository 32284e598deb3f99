#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "child_processes.hpp"

namespace exec_handler {
namespace {

constexpr std::size_t message_limit = 1'000;

[[noreturn]] void fail(const char* what, int error) {
  throw std::runtime_error{std::string{what} + ": " + std::strerror(error)};
}

void check(const char* what, int error) {
  if (error != 0) fail(what, error);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

struct Actions {
  Actions() { check("posix_spawn_file_actions_init", posix_spawn_file_actions_init(&value)); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value{};
};

/// Its own process group; no blocked or ignored signals, of which the daemon has some.
struct Attributes {
  Attributes() {
    check("posix_spawnattr_init", posix_spawnattr_init(&value));
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&value, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&value, 0);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setsigdefault(&value, &all);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value{};
};

}  // namespace

void Child::Descriptor::close() {
  if (number >= 0) ::close(number);
  number = -1;
}

Child::Child(const Program& program, const std::vector<std::string>& more) {
  Descriptor childs[3];
  Descriptor* const ours[3] = {&input_, &output_, &errors_};
  for (int i = 0; i < 3; ++i) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
    ours[i]->number = ends[i == 0 ? 1 : 0];
    childs[i].number = ends[i == 0 ? 0 : 1];
    fcntl(ours[i]->number, F_SETFL, O_NONBLOCK);
  }
  Actions actions;
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions.value, childs[i].number, i);
  posix_spawn_file_actions_addclosefrom_np(&actions.value, 3);
  posix_spawn_file_actions_addchdir_np(&actions.value, program.folder.c_str());
  const Attributes attributes;
  std::vector<std::string> command = program.command;
  std::vector<std::string> environment = program.environment;
  environment.insert(environment.end(), more.begin(), more.end());
  environment.push_back(descendants_.variable());
  int error = 0;
  process_ = ChildProcesses::all().start([&] {
    pid_t process = -1;
    error = posix_spawn(&process, command.front().c_str(), &actions.value, &attributes.value,
                        pointers(command).data(), pointers(environment).data());
    return error == 0 ? process : -1;
  });
  const char* const whose = error == ENOENT ? " (or its interpreter)" : "";
  if (error != 0) fail(("cannot start " + command.front() + whose).c_str(), error);
  // Without <sys/pidfd.h>: in glibc 2.36 its functions have C++ names.
  process_file_.number = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
  if (process_file_.number < 0) {
    const int reason = errno;
    end();
    fail("cannot watch the process (pidfd_open)", reason);
  }
}

Child::~Child() { end(); }

bool Child::exchange(std::string_view& input, std::string& output, std::string& errors,
                     std::chrono::milliseconds limit) {
  pollfd files[4] = {{input.empty() ? -1 : input_.number, POLLOUT, 0},
                     {output_.number, POLLIN, 0},
                     {errors_.number, POLLIN, 0},
                     {has_ended_ ? -1 : process_file_.number, POLLIN, 0}};
  const int ready = poll(files, 4, has_ended_ ? 0 : static_cast<int>(limit.count()));
  if (ready < 0 && errno != EINTR) fail("cannot wait for the process", errno);
  if (ready < 0) return true;
  if (files[0].revents != 0) write(input);
  bool any = false;
  if (files[1].revents != 0) any = read(output_, output, max_output) || any;
  if (files[2].revents != 0) any = read(errors_, errors, max_errors) || any;
  has_ended_ = has_ended_ || files[3].revents != 0;
  // Descendants may keep the pipes open: the child's end counts.
  return any || !has_ended_ || ready > 0;
}

/// True if it read something. Beyond `most` the oldest bytes are dropped.
bool Child::read(Descriptor& from, std::string& to, std::size_t most) {
  char bytes[65'536];
  const ssize_t size = ::read(from.number, bytes, sizeof bytes);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    from.close();
    return false;
  }
  to.append(bytes, static_cast<std::size_t>(size));
  if (to.size() > most + sizeof bytes) to.erase(0, to.size() - most);
  return true;
}

void Child::write(std::string_view& input) {
  const ssize_t size = ::write(input_.number, input.data(), input.size());
  if (size > 0) return input.remove_prefix(static_cast<std::size_t>(size));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  input = {};  // it reads no more: its answers tell the rest
  input_.close();
}

void Child::close_input() { input_.close(); }

int Child::end() {
  if (process_ < 0) return status_;
  // The leader is still unreaped, so that the number of the group is not another's.
  siginfo_t how{};
  if (waitid(P_PID, static_cast<id_t>(process_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid == 0) {
    kill(process_, SIGKILL);  // a child that has not set its group yet
  }
  kill(-process_, SIGKILL);
  const int status = ChildProcesses::all().take_status(process_);
  descendants_.end();
  process_ = -1;
  status_ = WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

std::string ending_text(int how) {
  if (how >= Child::signal_base) return "was killed by signal " + std::to_string(how - Child::signal_base);
  return "exited with status " + std::to_string(how);
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  return std::string{text.substr(0, message_limit)};
}

}  // namespace exec_handler
