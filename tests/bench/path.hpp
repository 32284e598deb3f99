#pragma once
#include <string>

#include "options.hpp"
#include "run.hpp"

namespace inboxd::bench {

/// The path without a broker: ingest of generated records alone.
Run run_path_from_memory(const Options& options, const std::string& database_url);

/// The path: a real consumer of a preloaded topic, ingest, hand-over in memory to a no-op, batched settle.
struct PathRates {
  Run stored;                                  ///< until all was stored
  Run settled;                                 ///< until all was settled
};
PathRates run_path(const Options& options, const std::string& database_url, const std::string& topic);

}  // namespace inboxd::bench
