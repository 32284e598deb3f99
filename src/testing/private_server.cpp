#include "testing/private_server.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "operations/sample_queries.hpp"

namespace inboxd::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto start_timeout = 60s;
constexpr auto start_look = 20ms;
constexpr const char* remedy =
    "; pass --database URL of a server where databases may be created, or install PostgreSQL's server programs "
    "(Debian: apt-get install postgresql)";

std::optional<fs::path> find_programs(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    if (::access((folder / "initdb").c_str(), X_OK) == 0 && ::access((folder / "postgres").c_str(), X_OK) == 0) {
      return folder;
    }
  }
  return std::nullopt;
}

/// The user that runs PostgreSQL, which refuses root; null: this process's.
const passwd* other_user() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

/// Starts a program, whose output goes to `log`. Between fork and exec only system calls are allowed.
pid_t spawn(const std::vector<std::string>& words, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const passwd* const user = other_user();
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);  // Ctrl-C is for inboxd alone
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  const bool is_user = user == nullptr || (::setgroups(0, nullptr) == 0 && ::setgid(user->pw_gid) == 0 &&
                                           ::setuid(user->pw_uid) == 0);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (is_user && ::getppid() == parent) ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

/// Whether the process has ended; waits for it unless `options` has WNOHANG.
bool has_ended(pid_t process, int options, int* status = nullptr) {
  int ignored = 0;
  return ::waitpid(process, status == nullptr ? &ignored : status, options) != 0;
}

}  // namespace

std::vector<fs::path> program_folders() {
  std::vector<fs::path> out;
  const char* const path = std::getenv("PATH");
  std::istringstream list{path == nullptr ? "" : path};
  for (std::string folder; std::getline(list, folder, ':');) out.emplace_back(folder);
  std::vector<std::pair<int, fs::path>> packaged;
  std::error_code error;
  for (const auto& version : fs::directory_iterator{"/usr/lib/postgresql", error}) {
    packaged.emplace_back(std::atoi(version.path().filename().c_str()), version.path() / "bin");
  }
  for (const auto& folder : fs::directory_iterator{"/usr", error}) {
    const std::string name = folder.path().filename();
    if (name.starts_with("pgsql-")) packaged.emplace_back(std::atoi(name.c_str() + 6), folder.path() / "bin");
  }
  std::sort(packaged.rbegin(), packaged.rend());
  for (auto& [version, folder] : packaged) out.push_back(std::move(folder));
  return out;
}

base::Result<std::unique_ptr<PrivateServer>> PrivateServer::start(int connections,
                                                                  const std::vector<fs::path>& folders) {
  const auto programs = find_programs(folders);
  if (!programs) return base::Problem{std::string{"no PostgreSQL for the tests was found"} + remedy};
  if (::geteuid() == 0 && other_user() == nullptr) {
    return base::Problem{std::string{"PostgreSQL refuses root, and there is no user postgres"} + remedy};
  }
  std::unique_ptr<PrivateServer> out{new PrivateServer};
  auto problem = out->make(*programs);
  if (!problem) problem = out->serve(*programs, connections);
  if (problem) return *problem;
  return out;
}

std::optional<base::Problem> PrivateServer::make(const fs::path& programs) {
  constexpr std::size_t max_folder = 70;  // a socket's path has at most 107 bytes
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error || parent.native().size() > max_folder) parent = "/tmp";
  std::string name = parent / "inboxd-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return base::Problem{"no folder can be made in " + parent.string()};
  folder_ = name;
  const passwd* const user = other_user();
  if (user != nullptr && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0) {
    return base::Problem{"user postgres cannot be given the folder " + name};
  }
  const pid_t child = spawn({programs / "initdb", "-D", folder_ / "data", "-U", "postgres", "--auth=trust",
                             "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"},
                            folder_ / "log");
  int status = -1;
  if (child > 0 && has_ended(child, 0, &status) && status == 0) return std::nullopt;
  return failure("initdb failed");
}

std::optional<base::Problem> PrivateServer::serve(const fs::path& programs, int connections) {
  process_ = spawn({programs / "postgres", "-D", folder_ / "data", "-k", folder_, "-c", "listen_addresses=", "-c",
                    "max_connections=" + std::to_string(connections), "-c", "fsync=off", "-c",
                    "full_page_writes=off", "-c", "autovacuum=off"},
                   folder_ / "log");
  const auto end = std::chrono::steady_clock::now() + start_timeout;
  while (!operations::run_sql(url(), "select 1", start_timeout)) {
    const bool is_over = process_ <= 0 || has_ended(process_, WNOHANG);
    if (is_over) process_ = 0;
    if (is_over || std::chrono::steady_clock::now() > end) return failure("PostgreSQL did not start");
    std::this_thread::sleep_for(start_look);
  }
  return std::nullopt;
}

base::Problem PrivateServer::failure(const std::string& step) const {
  std::string last;
  std::ifstream log{folder_ / "log"};
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return {step + " (" + (folder_.empty() ? "" : "in " + folder_.parent_path().string() + ": ") + last + ")" + remedy};
}

std::string PrivateServer::url() const { return "host=" + folder_.string() + " user=postgres dbname=postgres"; }

PrivateServer::~PrivateServer() {
  if (process_ > 0) {
    ::kill(process_, SIGQUIT);
    has_ended(process_, 0);
  }
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

}  // namespace inboxd::testing
