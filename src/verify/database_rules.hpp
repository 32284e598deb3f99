#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "operations/operation.hpp"
#include "operations/partition_queries.hpp"
#include "verify/report.hpp"

namespace inboxd::verify {

/// The request of a verification.
struct Request {
  bool database = true;
  bool kafka = true;
  std::vector<std::string> topics = {};  ///< exact or prefix*; empty = all
  double sample = 1.0;                   ///< the share of the offsets: blocks of 10,000
  std::int64_t rate = 0;                 ///< the most records of Kafka per second; 0: unlimited
  std::string state_file = {};           ///< where the verified offsets are kept; empty: nowhere
  std::int64_t limit = 100;              ///< the most contradictions of a rule that are shown
};

struct Surroundings {
  inbox::Connection& connection;
  const config::Settings& settings;
  std::function<void(const operations::Progress&)> progress = [](const operations::Progress&) {};
  /// Waits that long; true: stop.
  std::function<bool(std::chrono::milliseconds)> pause = [](std::chrono::milliseconds) { return false; };
};

/// Offsets and times up to which the database can be checked.
struct Moment {
  event::Microseconds now = 0;           ///< the database's
  event::Microseconds events_since = 0;  ///< the oldest day of events that was not dropped
  event::Microseconds outcomes_since = 0;
  event::Microseconds ledger_since = 0;  ///< the first day with all its ids; 0: none were
  event::Microseconds dead_letters_since = 0;  ///< the newest that retention has deleted
  std::optional<event::Microseconds> started_at;  ///< the inbox, with its first topic
  std::int64_t newest_delivery = 0;
  std::int64_t ledger_blocks = 0;
  bool may_read_payloads = false;
  std::string server;  ///< the start of the server process, and the identity of the tables
};
Moment read_moment(inbox::Connection& connection);

/// The partitions of the request's topics, former incarnations included. Throws database errors.
std::vector<operations::PartitionState> partitions_of(const Surroundings& around, const Request& request);

/// Runs every rule of the database, each a statement, page by page. A statement reads a single snapshot, so that no
/// work of a running daemon is half visible. Throws database errors.
void verify_database(const Surroundings& around, const Request& request, Report& out);

/// Whether block `number` (offsets from 10,000 times number) of a partition is in the sample. Always the same blocks.
bool is_in_sample(const std::string& topic, std::int32_t partition, std::int64_t number, double sample);
inline constexpr std::int64_t sample_block = 10'000;

}  // namespace inboxd::verify
