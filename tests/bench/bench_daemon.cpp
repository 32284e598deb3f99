#include "bench_daemon.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "cost_measurement.hpp"

namespace inboxd::bench {
namespace {

namespace files = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = std::chrono::milliseconds{50};
constexpr auto stop_limit = std::chrono::seconds{60};
constexpr std::size_t shown_log_bytes = 2000;

files::path make_folder() {
  std::string pattern = (files::temp_directory_path() / "inboxd-bench.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no temporary folder can be made"};
  return pattern;
}

std::string properties_of(const Options& options) {
  std::string out;
  for (const auto& [name, value] : options.properties) out += (out.empty() ? "" : ", ") + name + ": '" + value + "'";
  return "{" + out + "}";
}

void write_configuration(const files::path& file, const Options& options, const DaemonSettings& settings) {
  std::ofstream out{file};
  out << "database: {url: \"" << settings.database_url << "\", connections: " << settings.connections << "}\n"
      << "kafka: {brokers: \"" << options.kafka << "\", group: \"" << settings.topic
      << "\", properties: " << properties_of(options) << "}\n"
      << "topics:\n"
      << "  - {name: " << settings.topic << ", envelope: " << settings.envelope << "}\n";
  for (const std::string& name : settings.more_topics)
    out << "  - {name: " << name << ", envelope: " << settings.envelope << "}\n";
  if (!settings.read_back.empty()) out << "  - {name: " << settings.read_back << "}\n";
  if (!settings.tracing.empty()) out << "tracing: " << settings.tracing << "\n";
  out << "ingest: {connections: " << options.connections << ", batch_events: " << options.batch << "}\n"
      << "admin: " << settings.admin << "\n"
      << "dispatch: " << settings.dispatch << "\n"
      << "handlers:\n";
  const std::string plugin = settings.plugin.empty() ? BENCH_HANDLER : settings.plugin;
  const bool names_mode = settings.handler_keys.find("mode: ") != std::string::npos;
  const std::string keys = (names_mode ? "" : "mode: single, ") + settings.handler_keys;
  for (int i = 1; i <= settings.handlers; ++i) {
    out << "  - {name: noop_" << i << ", plugin: \"" << plugin << "\", " << keys
        << ", subscribe: {types: " << settings.types << "}, settings: " << settings.handler_settings << "}\n";
  }
}

/// Returns after exec: until then the process has the benchmark's memory.
pid_t start(const files::path& log, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe can be made"};
  const pid_t process = fork();
  if (process != 0) {
    close(ends[1]);
    char nothing = 0;
    while (process > 0 && read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (process < 0) throw std::runtime_error{"no process can be started"};
    return process;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the daemon ends with the benchmark
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
  _exit(127);
}

std::string end_of(const files::path& log) {
  std::ifstream file{log};
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  return text.size() > shown_log_bytes ? text.substr(text.size() - shown_log_bytes) : text;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

BenchDaemon::BenchDaemon(const Options& options, const DaemonSettings& settings, bool until_idle)
    : folder_{make_folder()} {
  const auto file = folder_ / "inboxd.yaml";
  write_configuration(file, options, settings);
  std::vector<std::string> arguments{INBOXD_PROGRAM, "--config", file.string(), "run", "--migrate"};
  if (until_idle) arguments.emplace_back("--until-idle");
  process_ = start(folder_ / "log", arguments);
}

BenchDaemon::~BenchDaemon() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    reap(true);
  }
  std::error_code ignored;
  files::remove_all(folder_, ignored);
}

bool BenchDaemon::reap(bool block) {
  if (process_ <= 0) return true;
  // Not from rusage: that includes the benchmark's own memory before exec.
  peak_memory_ = std::max(peak_memory_, bench::peak_memory(process_));
  rusage usage{};
  const pid_t ended = wait4(process_, &status_, block ? 0 : WNOHANG, &usage);
  if (ended != process_) return false;
  cpu_seconds_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  process_ = 0;
  return true;
}

bool BenchDaemon::is_running() { return !reap(false); }

void BenchDaemon::wait(std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!reap(false)) {
    if (Clock::now() > deadline) fail("it has not exited in time");
    std::this_thread::sleep_for(poll_interval);
  }
  if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) fail("it ended with status " + std::to_string(status_));
}

void BenchDaemon::stop() {
  if (process_ > 0) kill(process_, SIGTERM);
  wait(stop_limit);
}

void BenchDaemon::fail(const std::string& what) const {
  throw std::runtime_error{"the daemon: " + what + "; the end of its log:\n" + end_of(folder_ / "log")};
}

void BenchDaemon::migrate(const Options& options, const DaemonSettings& settings) {
  run_command(options, settings, {"migrate"});
}

void BenchDaemon::run_command(const Options& options, const DaemonSettings& settings,
                              const std::vector<std::string>& words) {
  const auto folder = make_folder();
  write_configuration(folder / "inboxd.yaml", options, settings);
  std::vector<std::string> arguments{INBOXD_PROGRAM, "--config", (folder / "inboxd.yaml").string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const pid_t process = start(folder / "log", arguments);
  int status = 0;
  waitpid(process, &status, 0);
  const std::string log = end_of(folder / "log");
  files::remove_all(folder);
  if (status != 0) throw std::runtime_error{"inboxd " + words.front() + ": " + log};
}

}  // namespace inboxd::bench
