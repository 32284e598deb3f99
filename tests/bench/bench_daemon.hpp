#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "options.hpp"

namespace inboxd::bench {

/// Configuration of the daemon under test; the rest is default.
struct DaemonSettings {
  std::string database_url;
  std::string topic;
  int handlers = 1;
  std::string plugin = {};              ///< empty: the benchmark's own
  int connections = 9;                  ///< `database.connections`
  std::string handler_settings = "{}";  ///< YAML, for the plugin
  std::string handler_keys = "concurrency: 2, events_per_call: 500";
  std::string types = "[]";
  std::string envelope = "custom, custom: {id: key}";  ///< of the topic
  std::string admin = "{listen: off}";                 ///< YAML
  std::string tracing = {};                            ///< YAML; empty: none
  std::string dispatch = "{}";                         ///< YAML
  std::vector<std::string> more_topics = {};
  std::string read_back = {};                          ///< a topic of the outbox's messages, with envelope: auto
};

/// The real program as a child process, with the benchmark's plugin as its handlers. Its log goes to a file; an
/// exception quotes the end of the log.
class BenchDaemon final {
 public:
  /// `until_idle`: the daemon exits once all events are settled.
  BenchDaemon(const Options& options, const DaemonSettings& settings, bool until_idle);
  ~BenchDaemon();
  BenchDaemon(const BenchDaemon&) = delete;
  BenchDaemon& operator=(const BenchDaemon&) = delete;

  pid_t process() const { return process_; }
  bool is_running();
  /// Waits for it to exit; throws at the timeout, or if the exit status is not 0.
  void wait(std::chrono::seconds limit = std::chrono::minutes{30});
  void stop();

  /// Known after the process has exited.
  double cpu_seconds() const { return cpu_seconds_; }
  std::int64_t peak_memory() const { return peak_memory_; }

  /// Applies the migrations to an empty database, then exits.
  static void migrate(const Options& options, const DaemonSettings& settings);
  /// Runs a command to its end; throws with its output if it fails.
  static void run_command(const Options& options, const DaemonSettings& settings,
                          const std::vector<std::string>& words);

 private:
  bool reap(bool block);
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path folder_;
  pid_t process_ = 0;
  int status_ = 0;
  double cpu_seconds_ = 0;
  std::int64_t peak_memory_ = 0;
};

}  // namespace inboxd::bench
