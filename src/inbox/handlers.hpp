#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"

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

/// Under which version of all handlers each of them, also of those that are retired, came to say what it says; by id.
using HandlerVersions = std::map<std::int32_t, std::int64_t>;

HandlerVersions read_handler_versions(Connection& connection);

/// Whether a name is in a list of exact names and prefixes; the same rule as SQL's inbox.matches.
bool matches(std::string_view name, const std::vector<std::string>& patterns);

/// A handler of the configuration, as the database knows it from now on.
struct Registered {
  std::int32_t handler_id = 0;
  std::string name;                            ///< its newest, where the configuration has a former one
  bool is_new = false;
  bool has_former_name = false;                ///< the configuration is older than the rename, and changes nothing
  std::string change;                          ///< what is another now, for the log: `topics: a -> a, b`, or empty
  event::Microseconds since = 0;               ///< when it was new
  /// The routing version since which the database says what the configuration says; 0 where that has a former name: it
  /// does not know what the newer one says.
  std::int64_t changed_under = 0;
  config::Handler handler{};  ///< as it is configured
  bool operator==(const Registered&) const = default;
};

/// Makes the database's handlers say what the configuration says: adds or changes, never removes; renames by alias,
/// also onto the name of a retired handler, which is kept as `name (retired ID)` then. A configuration that calls a
/// handler by a former name (the old version, in a rolling deploy) leaves it as it is. What was added or changed is
/// noted in audit. A handler that is new with `start` in the past is owed the events stored before (table backfill); so
/// is one that was retired, of which nothing that it was owed before is left. One that is changed is owed by its new
/// topics and types what is stored from now on. Waits for running ingest transactions, for a bounded time. Returns one
/// for each handler, in order.
///
/// `before`: as what this process has registered handlers so far; which of these they are says find_registered. One
/// that the database has forgotten since, as after a failover or a restore, comes back under its id, and is owed what
/// it was to begin with: with `start: now` what was stored since it was new. An id that is another then says that
/// somebody else has put it back as a new one. One that was retired since is no forgotten one: it is a new one.
///
/// `taken_up_by`: the process that is about to run them, which is known with their registration, so that nobody retires
/// one for want of a daemon that runs it.
std::vector<Registered> register_handlers(Connection& connection, const std::vector<config::Handler>& handlers,
                                          const std::string& actor = "daemon",
                                          const std::vector<Registered>& before = {},
                                          const std::optional<InstanceIdentity>& taken_up_by = std::nullopt);

/// As what a handler of the configuration was registered, under its name, there or in the database, or a former one;
/// null where it was not.
const Registered* find_registered(const std::vector<Registered>& registered, const config::Handler& handler);

/// Whether the database knows of that registration still, or of a later one.
bool are_registered(Connection& connection, const std::vector<Registered>& handlers);

/// Puts back, one for each of `registered`, those that the database has forgotten, or the last change of: under the
/// version of then, so that an older configuration, which may be the first to put back, hides nothing from whoever has
/// the newer one. What it knows as it was, or as somebody has changed it since, stays as it is; so does one that was
/// retired. Like register_handlers for the rest.
std::vector<Registered> put_back(Connection& connection, const std::vector<Registered>& registered,
                                 const std::string& actor, const InstanceIdentity& taken_up_by);

/// Names of those that somebody has retired meanwhile.
std::vector<std::string> retired_of(Connection& connection, const std::vector<Registered>& handlers);

/// What one bite of owed history came to.
struct Backfilled {
  std::int64_t events = 0;        ///< that became deliveries; some bites hold none of the handler's
  std::int64_t dead_letters = 0;  ///< answered by that, and gone: of a former life of the handler
};
/// Turns one bite of owed history into deliveries; nullopt where nothing is left to do.
std::optional<Backfilled> backfill_bite(Connection& connection, int bite_events);

}  // namespace inboxd::inbox
