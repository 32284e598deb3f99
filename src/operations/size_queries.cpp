#include "operations/size_queries.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "inbox/connection_access.hpp"
#include "operations/documents.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr std::int64_t day_seconds = 86'400;
/// Today's rate is known after that long.
constexpr std::int64_t enough_of_today = 3'600;

/// Days until the oldest day with events is dropped; null: never, or there is none.
Document days_left(const std::vector<TableSize>& sizes, const std::string& table, const config::Keep& keep) {
  const auto oldest = std::find_if(sizes.begin(), sizes.end(),
                                   [&](const TableSize& size) { return size.table == table && size.seconds_over; });
  if (!keep || oldest == sizes.end()) return nullptr;
  const auto keep_seconds = std::max(std::chrono::duration_cast<std::chrono::seconds>(*keep).count(), day_seconds);
  return std::max<double>(0, static_cast<double>(keep_seconds - *oldest->seconds_over) / day_seconds);
}

}  // namespace

std::vector<TableSize> read_sizes(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_sizes, {}, [](auto row) {
    return TableSize{row.text(), row.maybe_text(), row.int8(), row.maybe_int8()};
  });
}

std::int64_t bytes_per_day(const std::vector<TableSize>& sizes, const std::string& table) {
  std::int64_t today = 0, yesterday = 0, elapsed = 0;
  for (const TableSize& size : sizes) {
    if (size.table != table || !size.seconds_over) continue;
    const std::int64_t over = *size.seconds_over;
    if (over >= 0 && over < day_seconds) yesterday = size.bytes;
    if (over < 0 && over >= -day_seconds) {
      today = size.bytes;
      elapsed = day_seconds + over;
    }
  }
  return elapsed < enough_of_today ? yesterday : today * day_seconds / elapsed;
}

Document document_of(const std::vector<TableSize>& sizes, const config::Retention& retention) {
  std::int64_t total = 0;
  Document tables = Document::array();
  for (const TableSize& size : sizes) {
    total += size.bytes;
    tables.push_back({{"table", size.table}, {"day", text_of(size.day)}, {"bytes", size.bytes}});
  }
  const std::array<std::pair<const char*, config::Keep>, 3> of_days{
      {{"event", retention.events}, {"failure", retention.failures}, {"outcome", retention.outcomes}}};
  Document growth = Document::array();
  std::int64_t all_per_day = 0;
  for (const auto& [table, keep] : of_days) {
    const std::int64_t per_day = bytes_per_day(sizes, table);
    all_per_day += per_day;
    growth.push_back({{"table", table}, {"bytes_per_day", per_day}, {"days_left", days_left(sizes, table, keep)}});
  }
  return {{"bytes", total}, {"bytes_per_day", all_per_day}, {"growth", std::move(growth)},
          {"tables", std::move(tables)}};
}

}  // namespace inboxd::operations
