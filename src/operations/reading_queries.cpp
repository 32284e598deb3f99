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
  const pqxx::params parameters{static_cast<int>(recorded_within.count()), static_cast<int>(live_within.count())};
  return read_all(connection, inbox::statements::op_readings, parameters, [](auto row) {
    return PartitionReading{row.text(),       row.int4(),       row.maybe_int8(),
                            row.maybe_int8(), row.maybe_text(), row.maybe_text(),
                            row.maybe_text(), row.flag(),       std::chrono::microseconds{row.int8()},
                            row.flag(),       row.flag()};
  });
}

}  // namespace inboxd::operations
