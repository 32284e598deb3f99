#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/watchdog.hpp"
#include "queue/requests.hpp"

namespace inboxd::dispatcher {

/// The time limit of a visit.
struct VisitLimit {
  std::optional<std::chrono::milliseconds> longest{};  ///< of each statement, at most the configured deadline
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();  ///< of all statements
};

struct Reply {
  Answer answer;
  int session = 0;  ///< a new number marks a new session: readings made in the old session are stale
};

/// The database as the claimer asks it, or a fake of it. Called by a single thread; blocks.
using AskDatabase = std::function<Reply(const Request&, const VisitLimit&)>;

/// Fills in the owner of claims and leases.
AskDatabase ask_database(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                         base::Logger& log);

}  // namespace inboxd::dispatcher
