#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

struct LaneFilter {
  std::optional<std::string> handler;  ///< name or alias
  std::optional<std::string> key;      ///< its bytes
};

/// Keys of sequential handlers whose events wait, as columns::lane; keys with most events first.
Document list_lanes(inbox::Connection& connection, const LaneFilter& filter, std::int64_t limit);

/// A dead letter that parks its key.
struct ParkedKey {
  std::int64_t dead_letter_id = 0;
  std::string handler;
};
std::vector<ParkedKey> pick_parked(inbox::Connection& connection, const LaneFilter& filter,
                                   const std::optional<std::vector<std::int64_t>>& dead_letter_ids, std::int64_t limit);

}  // namespace inboxd::operations
