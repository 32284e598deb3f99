#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// What a handler is still owed, and who runs it.
struct HandlerOwed {
  std::int32_t handler_id = 0;
  bool is_retired = false;
  std::int64_t events = 0;                     ///< as deliveries
  std::int64_t backfill = 0;                   ///< offsets of the past that are still to become deliveries
  std::vector<std::string> run_by;             ///< `host (process 42)`
};
/// Nothing where no handler is called so now. `seen_within`: who was not seen for longer does not run it any more.
std::optional<HandlerOwed> find_owed(Connection& connection, const std::string& handler,
                                     std::chrono::seconds seen_within);

/// From the next batch on nothing is owed to the handler; noted in audit. Waits for running ingest transactions, for a
/// bounded time. Not where a daemon seen `unless_seen_within` runs it or has taken it up; nothing there: whoever runs
/// it.
void retire_handler(Connection& connection, const HandlerOwed& owed, const std::string& actor,
                    std::optional<std::chrono::seconds> unless_seen_within);

/// Deletes a bite of what a retired handler is owed, without rows that somebody is at; of one that is not retired
/// nothing.
struct Forgotten {
  std::int64_t rows = 0;
  std::int64_t events = 0;
};
Forgotten forget_bite(Connection& connection, std::int32_t handler_id, int rows);

}  // namespace inboxd::inbox
