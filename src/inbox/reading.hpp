#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A partition that is assigned to this instance.
struct Reading {
  std::string topic;
  std::int32_t partition = 0;
  std::optional<std::int64_t> position;
  std::optional<std::int64_t> high_watermark;
  std::optional<std::string> reason;  ///< why the position is not known
};
void record_readings(Connection& connection, const base::Uuid& instance, const std::vector<Reading>& readings);

/// A partition that no instance reads.
struct UnreadPartition {
  std::string topic;
  std::int32_t partition = 0;
  std::optional<std::int64_t> high_watermark = std::nullopt;
  std::optional<std::string> member = std::nullopt;  ///< of the group, which has it and is no daemon of this inbox
};
/// The partitions of `all` about which no instance has recorded anything for `age`.
std::vector<UnreadPartition> unread_partitions(Connection& connection, const std::vector<UnreadPartition>& all,
                                               std::chrono::milliseconds age);
void record_unread(Connection& connection, const std::vector<UnreadPartition>& partitions,
                   std::chrono::milliseconds age);

}  // namespace inboxd::inbox
