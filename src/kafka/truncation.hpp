#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace inboxd::kafka {

/// A log that lost records which were read before (KIP-320): a replica that lagged became the leader.
struct Truncation {
  std::optional<std::int64_t> end;  ///< the first offset that differs; nothing: the brokers do not know
};

/// Reads a partition's error; nothing if it reports no truncation. The library asks the brokers where the position's
/// leader epoch ends, but has no function for it, so the answer is read from the text of its error. If a library words
/// the text otherwise, the end is unknown.
std::optional<Truncation> read_truncation(std::string_view error);

}  // namespace inboxd::kafka
