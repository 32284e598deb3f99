#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::operations {

/// How long a partition's records may wait without progress.
inline constexpr std::chrono::seconds unmoved_limit{60};

/// Who reads a partition of a configured topic, and how far, as the daemons last recorded it.
struct PartitionReading {
  std::string topic;
  std::int32_t partition = 0;
  std::optional<std::int64_t> position;  ///< null: not known
  std::optional<std::int64_t> high_watermark;
  std::optional<std::string> reason;  ///< why its reader does not know the position
  std::optional<std::string> member;  ///< of the group, which has it and is no daemon of this inbox
  std::optional<std::string> host;    ///< of the last daemon that read it
  bool is_read = false;               ///< by a live daemon
  std::chrono::microseconds unmoved_for{0};  ///< since the position changed, or was at the end
  bool is_halted = false;
  bool is_held = false;  ///< by an open transaction

  std::optional<std::int64_t> lag() const;
  /// Records wait, perhaps: no progress, and neither a halt nor a transaction explains it.
  bool is_stuck() const;
};
std::vector<PartitionReading> read_readings(inbox::Connection& connection);

}  // namespace inboxd::operations
