#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

/// A table, or a day of it.
struct TableSize {
  std::string table;
  std::optional<std::string> day;              ///< 2026-11-25; nullopt: the table has no days
  std::int64_t bytes = 0;                      ///< with indexes and TOAST
  std::optional<std::int64_t> seconds_over{};  ///< since the end of the day (UTC); negative: it has not ended
};
/// Sorted by table and day.
std::vector<TableSize> read_sizes(inbox::Connection& connection);

/// The bytes per day of a table with days: today's so far, extrapolated; yesterday's in the first hour of a day. Pure.
std::int64_t bytes_per_day(const std::vector<TableSize>& sizes, const std::string& table);

/// The field `sizes` of `status`. SQL cannot see how much disk is free, so the days that are left count until the
/// oldest day is dropped; from then on a table grows no more at today's rate.
Document document_of(const std::vector<TableSize>& sizes, const config::Retention& retention);

}  // namespace inboxd::operations
