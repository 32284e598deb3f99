#pragma once
#include <atomic>
#include <string>

#include "latency.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// The baseline under a steady load: records that arrived during a commit are the next batch. Ends after `events`
/// records, or if none arrive and `stop` is set. Returns the latencies from sending to hand-over; records without a
/// time of sending are not counted.
Latencies run_baseline_steadily(const Options& options, const std::string& database_url, const std::string& topic,
                                std::int64_t events, const std::atomic<bool>& stop);

}  // namespace inboxd::bench
