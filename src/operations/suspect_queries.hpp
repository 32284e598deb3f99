#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::operations {

/// Pending events of a delivery that were in flight at several crashes.
struct SuspectState {
  std::string handler;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = 0;  ///< of the first event
  std::int64_t events = 0;
  std::int32_t crashes = 0;
  std::string event_id;  ///< empty: several events, or purged
};
/// The suspects with the most crashes.
std::vector<SuspectState> read_suspects(inbox::Connection& connection);

}  // namespace inboxd::operations
