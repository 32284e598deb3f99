#pragma once
#include <string>

#include "measured_run.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// The baseline without a broker: ingest of generated records only.
MeasuredRun run_baseline_from_memory(const Options& options, const std::string& database_url);

/// The baseline: a consumer of a preloaded topic, ingest, hand-over in memory to a no-op, batched settle.
struct BaselineRates {
  MeasuredRun stored;   ///< until all events are stored
  MeasuredRun settled;  ///< until all events are settled
};
BaselineRates run_baseline(const Options& options, const std::string& database_url, const std::string& topic);

}  // namespace inboxd::bench
