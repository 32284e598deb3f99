#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A handler as the database routes to it, whoever configured it.
struct Subscription {
  std::int32_t handler_id = 0;
  std::string name;
  std::vector<std::string> topics;             ///< exact, or * at the end for a prefix; empty = all
  std::vector<std::string> types;
  std::optional<std::string> paused_reason;
};

/// All handlers under one version.
struct Routing {
  std::int64_t version = 0;
  std::vector<Subscription> handlers;
};

Routing read_routing(Connection& connection);

/// Whether a name is in a list of exact names and prefixes; the same rule as SQL's inbox.matches.
bool matches(std::string_view name, const std::vector<std::string>& patterns);

/// Makes the database's handlers say what the configuration says: adds or changes, never removes; renames by alias. A
/// handler that is new with `start` in the past is owed the events stored before (table backfill). Waits for running
/// ingest transactions, for a bounded time.
void register_handlers(Connection& connection, const std::vector<config::Handler>& handlers);

/// Turns one bite of owed history into deliveries; returns the events it went through, 0 where nothing is left to do.
std::int64_t backfill_bite(Connection& connection, int bite_events);

}  // namespace inboxd::inbox
