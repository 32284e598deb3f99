#include "operations/reading_queries.hpp"

#include <algorithm>

#include "inbox/connection_access.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

/// Rows are written every five seconds, unless neither brokers nor database answer.
constexpr std::chrono::seconds recorded_within{30};

}  // namespace

std::optional<std::int64_t> PartitionReading::lag() const {
  if (!position || !high_watermark) return std::nullopt;
  return std::max<std::int64_t>(*high_watermark - *position, 0);
}

bool PartitionReading::is_stuck() const {
  if (is_halted || is_held || unmoved_for < unmoved_limit) return false;
  return position ? lag().value_or(0) > 0 : high_watermark.value_or(1) > 0;
}

std::vector<PartitionReading> read_readings(inbox::Connection& connection) {
  std::vector<PartitionReading> out;
  const pqxx::params parameters{static_cast<int>(recorded_within.count()), static_cast<int>(live_within.count())};
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_readings, parameters)) {
    inbox::RowReader row{found};
    PartitionReading& reading = out.emplace_back();
    reading.topic = row.text();
    reading.partition = row.int4();
    reading.position = row.maybe_int8();
    reading.high_watermark = row.maybe_int8();
    reading.reason = row.maybe_text();
    reading.member = row.maybe_text();
    reading.host = row.maybe_text();
    reading.is_read = row.flag();
    reading.unmoved_for = std::chrono::microseconds{row.int8()};
    reading.is_halted = row.flag();
    reading.is_held = row.flag();
  }
  return out;
}

}  // namespace inboxd::operations
