#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "session.hpp"

namespace inboxd::bench {

/// What a run took: the CPU seconds of each party, the WAL bytes, the time.
struct Cost {
  double seconds = 0;
  double postgres_cpu = 0;
  double kafka_cpu = 0;
  double own_cpu = 0;                          ///< of the program under test
  double wal_bytes = 0;
  double stolen = 0;  ///< of this machine's CPU time, what its host gave to others: 0..1
};

/// Seconds of CPU time of this machine since it was started, and what of them its host gave to others.
struct MachineTime {
  double all = 0;
  double stolen = 0;
};
MachineTime machine_time();

/// CPU seconds of a process so far, user and system; 0 where there is none.
double cpu_seconds(pid_t process);
/// The same for its threads; those of one name are added up.
std::map<std::string, double> thread_cpu_seconds(pid_t process);
/// CPU seconds of the server so far: the postmaster, its children, and those that have ended.
double postgres_cpu_seconds(pid_t postmaster);
/// This process so far.
double own_cpu_seconds();

pid_t parent_of(pid_t process);
/// The process that listens on that port of this machine; 0 where it is not to be seen.
pid_t listener_on(int port);

/// Resident memory in bytes: the most there ever was, and now. 0 where the process is gone.
std::int64_t peak_memory(pid_t process);
std::int64_t resident_memory(pid_t process);
/// The peak is counted from here on.
void reset_peak_memory(pid_t process);

/// Measures from construction to `stop`. The program under test is this process, unless `own_cpu` is overwritten by
/// who knows better.
class Meter final {
 public:
  Meter(Session& session, const std::string& kafka);
  Cost stop();

 private:
  using Clock = std::chrono::steady_clock;

  Session& session_;
  pid_t postmaster_;
  pid_t broker_;
  std::string wal_;
  double postgres_, kafka_, own_;
  MachineTime machine_;
  Clock::time_point began_;
};

}  // namespace inboxd::bench
