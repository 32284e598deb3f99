#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon.hpp"
#include "options.hpp"
#include "run.hpp"
#include "topic.hpp"

namespace inboxd::bench {

/// How long events took, in microseconds, in the order in which they were seen.
using Latencies = std::vector<std::uint32_t>;

/// The value below which that part (0..1) of a stretch of them lies; the stretch is [from, to) in parts of the whole.
double percentile_ms(const Latencies& all, double part, double from = 0, double to = 1);
std::string percentiles_text(const Latencies& all, double from = 0, double to = 1);

/// A steady stream through the daemon.
struct SteadyLoad {
  double per_second = 1000;
  std::chrono::seconds time{20};
  std::chrono::seconds warm_up{3};  ///< left out: connections, caches and plans are new
  std::string handler_keys = "concurrency: 8";
  std::string more_settings = {};              ///< of the plugin, as between YAML's braces: `failures: 1`
};
struct SteadyRun {
  Latencies latencies;                         ///< from sending to the handler's call; the first seconds left out
  Run run;                                     ///< its cost; the rate is the load's
};

/// Starts the daemon on an empty schema, produces at that rate to the topic, waits until all is settled, and looks
/// whether the counts are right. `prepare` is called when the schema is there, before the daemon.
SteadyRun run_steadily(const Options& options, const std::string& database_url, Topic& topic, const SteadyLoad& load,
                       const std::function<void(Session&)>& prepare = {});

/// The same from sending to a plain consumer's poll: the broker's share.
Latencies consume_steadily(const Options& options, Topic& topic, const SteadyLoad& load);

/// The same from sending to the path's hand-over: what broker and database take without the daemon.
Latencies store_steadily(const Options& options, const std::string& database_url, Topic& topic, const SteadyLoad& load);

}  // namespace inboxd::bench
