#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "options.hpp"

namespace inboxd::bench {

/// What the daemon under test is configured with; everything else is its default.
struct DaemonSettings {
  std::string database_url;
  std::string topic;
  int handlers = 1;
  std::string plugin = {};              ///< empty: the bench's own
  int connections = 8;                  ///< the most the daemon opens
  std::string handler_settings = "{}";  ///< YAML, of the plugin
  std::string handler_keys = "concurrency: 2, events_per_call: 500";
  std::string types = "[]";  ///< what the handlers subscribe to
  std::string admin = "{listen: off}";   ///< YAML
  std::string tracing = {};              ///< YAML; empty: none
  std::vector<std::string> more_topics = {};
};

/// The real program as a child process, with the bench's plugin as its handlers. Its log is in a file of the temporary
/// folder, whose end is part of the exception when it fails.
class Daemon final {
 public:
  /// Starts it; `until_idle`: it ends by itself when all is settled.
  Daemon(const Options& options, const DaemonSettings& settings, bool until_idle);
  /// Kills it if it still runs.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t process() const { return process_; }
  bool is_running();
  /// Waits for its end; throws where it took longer or did not end well.
  void wait(std::chrono::seconds limit = std::chrono::minutes{30});
  /// Asks it to end, and waits.
  void stop();

  /// Of the whole process, known after its end.
  double cpu_seconds() const { return cpu_seconds_; }
  std::int64_t peak_memory() const { return peak_memory_; }

  /// Applies the migrations to an empty database and makes the handlers' plugin known; no daemon stays.
  static void migrate(const Options& options, const DaemonSettings& settings);

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
