#include "cost_measurement.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace inboxd::bench {
namespace {

namespace files = std::filesystem;

/// Fields of /proc/PID/stat after the name, which may hold any character.
struct ProcessStat {
  pid_t parent = 0;
  double own = 0;       ///< CPU seconds
  double children = 0;  ///< of exited children
};

ProcessStat read_stat(const std::string& folder) {
  std::ifstream file{folder + "/stat"};
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields{text.substr(name_end + 1)};
  std::string state, skipped;
  ProcessStat out;
  fields >> state >> out.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  double user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  out.own = (user + system) / ticks;
  out.children = (children_user + children_system) / ticks;
  return out;
}

ProcessStat read_stat(pid_t process) { return read_stat("/proc/" + std::to_string(process)); }

template <class Visit>
void for_each_process(Visit&& visit) {
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator{"/proc", ignored}) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc{} && end == name.data() + name.size()) visit(process);
  }
}

/// The inode of the socket that listens on a port, as text; empty if there is none.
std::string listening_inode(int port) {
  std::ostringstream wanted;
  wanted << ':' << std::uppercase << std::hex;
  wanted.width(4);
  wanted.fill('0');
  wanted << port;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file{table};
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields{line};
      std::string slot, local, remote, state, skipped, inode;
      fields >> slot >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> skipped;
      fields >> inode;
      if (state == "0A" && local.ends_with(wanted.str())) return inode;
    }
  }
  return {};
}

std::int64_t status_kilobytes(pid_t process, const std::string& name) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/status"};
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

std::map<std::string, double> thread_cpu_seconds(pid_t process) {
  std::map<std::string, double> out;
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator{"/proc/" + std::to_string(process) + "/task", ignored}) {
    std::ifstream file{entry.path() / "comm"};
    std::string name;
    std::getline(file, name);
    out[name] += read_stat(entry.path().string()).own;
  }
  return out;
}

double cpu_seconds(pid_t process) { return process > 0 ? read_stat(process).own : 0; }

double postgres_cpu_seconds(pid_t postmaster) {
  while (true) {
    const ProcessStat before = read_stat(postmaster);
    double children = 0;
    for_each_process([&](pid_t process) {
      const ProcessStat child = read_stat(process);
      if (child.parent == postmaster) children += child.own;
    });
    // A child that exited meanwhile may be counted twice or not at all: read again.
    const ProcessStat after = read_stat(postmaster);
    if (before.children == after.children) return after.own + after.children + children;
  }
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

MachineTime machine_time() {
  // user nice system idle iowait irq softirq steal; user and nice include the rest.
  std::ifstream file{"/proc/stat"};
  std::string word;
  file >> word;
  MachineTime out;
  for (int i = 0; i < 8; ++i) {
    double ticks = 0;
    file >> ticks;
    out.all += ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    if (i == 7) out.stolen = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return out;
}

pid_t parent_of(pid_t process) { return read_stat(process).parent; }

pid_t listener_on(int port) {
  const std::string inode = listening_inode(port);
  if (inode.empty()) return 0;
  const std::string socket = "socket:[" + inode + "]";
  pid_t found = 0;
  for_each_process([&](pid_t process) {
    if (found != 0) return;
    std::error_code ignored;
    for (const auto& entry : files::directory_iterator{"/proc/" + std::to_string(process) + "/fd", ignored}) {
      if (files::read_symlink(entry.path(), ignored) == socket) found = process;
    }
  });
  return found;
}

std::int64_t peak_memory(pid_t process) { return status_kilobytes(process, "VmHWM"); }
std::int64_t resident_memory(pid_t process) { return status_kilobytes(process, "VmRSS"); }

void reset_peak_memory(pid_t process) {
  std::ofstream{"/proc/" + std::to_string(process) + "/clear_refs"} << "5";
}

CostMeasurement::CostMeasurement(PostgresSession& session, const std::string& kafka)
    : session_{session},
      postmaster_{parent_of(session.process_id())},
      broker_{kafka.empty() ? 0 : listener_on(std::stoi(kafka.substr(kafka.rfind(':') + 1)))},
      wal_{session.text("select pg_current_wal_lsn()")},
      postgres_{postgres_cpu_seconds(postmaster_)},
      kafka_{cpu_seconds(broker_)},
      own_{own_cpu_seconds()},
      machine_{machine_time()},
      began_{Clock::now()} {}

Cost CostMeasurement::stop() {
  Cost cost;
  cost.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  cost.own_cpu = own_cpu_seconds() - own_;
  cost.kafka_cpu = cpu_seconds(broker_) - kafka_;
  cost.postgres_cpu = postgres_cpu_seconds(postmaster_) - postgres_;
  const MachineTime now = machine_time();
  if (now.all > machine_.all) cost.stolen = (now.stolen - machine_.stolen) / (now.all - machine_.all);
  cost.wal_bytes = session_.real("select pg_wal_lsn_diff(pg_current_wal_lsn(), '" + wal_ + "')");
  return cost;
}

}  // namespace inboxd::bench
