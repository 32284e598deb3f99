#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::inbox {

struct StoredBytes {
  std::int64_t dead_letters = 0;
  std::int64_t quarantine = 0;
};

/// The bytes of both tables. A number below its `from` may be too high; from there on the rows are counted.
StoredBytes stored_bytes(Connection& connection, const StoredBytes& from);

/// Pauses the handlers that have new dead letters; returns their names.
std::vector<std::string> pause_at_limit(Connection& connection, const std::string& reason);
/// Resumes the paused handlers; returns their names.
std::vector<std::string> resume_below_limit(Connection& connection);

}  // namespace inboxd::inbox
