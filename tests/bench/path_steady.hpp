#pragma once
#include <atomic>
#include <string>

#include "latency.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// The path where events trickle in: what came while the last transaction was committing is the next batch. Ends when
/// `events` records were seen, or nothing comes and `stop` is set. Returns how long each took from sending to the
/// hand-over; records that bear no time of sending are stored and left out.
Latencies run_path_steadily(const Options& options, const std::string& database_url, const std::string& topic,
                            std::int64_t events, const std::atomic<bool>& stop);

}  // namespace inboxd::bench
