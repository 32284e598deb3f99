#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "postgres_session.hpp"

namespace inboxd::bench {

/// Cost of a run: CPU seconds of each party, WAL bytes, time.
struct Cost {
  double seconds = 0;
  double postgres_cpu = 0;
  double kafka_cpu = 0;
  double own_cpu = 0;  ///< the program under test
  double wal_bytes = 0;
  double stolen = 0;  ///< share of this machine's CPU that its host gave to others: 0..1
};

/// CPU seconds of this machine since boot, and the seconds of them that its host gave to others.
struct MachineTime {
  double all = 0;
  double stolen = 0;
};
MachineTime machine_time();

/// CPU seconds of a process, user and system; 0 if there is none.
double cpu_seconds(pid_t process);
/// CPU seconds per thread; threads with the same name are added up.
std::map<std::string, double> thread_cpu_seconds(pid_t process);
/// CPU seconds of the server: the postmaster and its children, including exited children.
double postgres_cpu_seconds(pid_t postmaster);
double own_cpu_seconds();

pid_t parent_of(pid_t process);
/// The process that listens on a port of this machine; 0 if it is not visible.
pid_t listener_on(int port);

/// Resident memory in bytes, peak and now; 0 if the process is gone.
std::int64_t peak_memory(pid_t process);
std::int64_t resident_memory(pid_t process);
void reset_peak_memory(pid_t process);

/// Measures from construction to `stop`. `own_cpu` is this process's; overwrite it if another process is under test.
class CostMeasurement final {
 public:
  CostMeasurement(PostgresSession& session, const std::string& kafka);
  Cost stop();

 private:
  using Clock = std::chrono::steady_clock;

  PostgresSession& session_;
  pid_t postmaster_;
  pid_t broker_;
  std::string wal_;
  double postgres_, kafka_, own_;
  MachineTime machine_;
  Clock::time_point began_;
};

}  // namespace inboxd::bench
