#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace inboxd::kafka {

/// A log that does not hold what was read of it (KIP-320): a broker's copy was behind when it became the leader.
struct Truncation {
  std::optional<std::int64_t> end;  ///< where it parts from what was read; nothing: the brokers do not know
};

/// Whether an error of a partition is about that. The client library asks the brokers where the epoch of the position
/// ends and has no function that does; what they answer stands in its sentence alone. Where that is worded otherwise,
/// the end is unknown.
std::optional<Truncation> read_truncation(std::string_view sentence);

}  // namespace inboxd::kafka
