#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench_daemon.hpp"
#include "measured_run.hpp"
#include "options.hpp"
#include "topic.hpp"

namespace inboxd::bench {

/// Latencies in microseconds, in the order of arrival.
using Latencies = std::vector<std::uint32_t>;

/// Percentile `part` (0..1) of the stretch [from, to), given as parts of the whole.
double percentile_ms(const Latencies& all, double part, double from = 0, double to = 1);
std::string percentiles_text(const Latencies& all, double from = 0, double to = 1);

struct SteadyLoad {
  double per_second = 1000;
  std::chrono::seconds time{20};
  std::chrono::seconds warm_up{3};  ///< not counted: connections, caches and plans are new
  std::string handler_keys = "concurrency: 8";
  std::string more_settings = {};  ///< for the plugin, inside YAML braces: `failures: 1`
  std::string plugin = {};         ///< empty: the benchmark's own; otherwise `more_settings` are all, with braces
  std::function<Latencies()> read_latencies = {};  ///< of another plugin; called once all is settled
  int others = 0;  ///< further instances, whose latencies are not in the result
  std::int64_t stored_before = 0;  ///< events that `prepare` stores and `begun` gets delivered
  std::function<void(PostgresSession&)> begun = {};  ///< called before the first event is produced
};
struct SteadyRun {
  Latencies latencies;  ///< from sending to the handler's call, after the warm-up
  MeasuredRun run;      ///< its cost; the rate is the load's
};

/// Starts the daemon on an empty schema, produces at that rate, waits until all events are settled and checks the
/// counts. Calls `prepare` after migration, before the daemon starts.
SteadyRun run_steadily(const Options& options, const std::string& database_url, Topic& topic, const SteadyLoad& load,
                       const std::function<void(PostgresSession&)>& prepare = {});

/// Latency from sending to a plain consumer's poll: the broker's share.
Latencies consume_steadily(const Options& options, Topic& topic, const SteadyLoad& load);

/// Latency from sending to the baseline's hand-over: broker and database without the daemon.
Latencies store_steadily(const Options& options, const std::string& database_url, Topic& topic, const SteadyLoad& load);

}  // namespace inboxd::bench
