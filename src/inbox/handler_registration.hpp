#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/settings.hpp"
#include "event/record.hpp"
#include "inbox/handler_routing.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::inbox {

/// A configured handler, as the database knows it after its registration.
struct Registered {
  std::int32_t handler_id = 0;
  std::string name;  ///< in the database: newer than the configuration's if that uses a former name
  bool is_new = false;
  bool has_former_name = false;   ///< the configuration is older than a rename: it changed nothing
  std::string change;             ///< for the log: `topics: a -> a, b`; empty: unchanged
  event::Microseconds since = 0;  ///< when the handler was new
  /// The routing version since which the database agrees with the configuration. 0 with a former name: the newer
  /// configuration is unknown here.
  std::int64_t changed_under = 0;
  bool is_retired = false;    ///< left unchanged; no events are routed to it until it is restored
  config::Handler handler{};  ///< as configured
  bool operator==(const Registered&) const = default;
};

/// Registers the configured handlers in the database: adds, changes and renames (by alias), but never removes. Returns
/// a result for each handler, in order. Locks routing, so it waits for running ingest transactions (10 s at most).
///
/// * A retired handler stays unchanged, and so does a handler that the configuration calls by a former name: in a
///   rolling deploy, an old instance must not undo the rename.
/// * A new handler with a `start` in the past gets the events stored since then (table backfill). New topics and types
///   of a changed handler get the events stored from now on.
/// * Additions and changes are recorded in `audit`.
///
/// `before`: this process's earlier registrations. If the database has lost a handler since (a failover, a restore),
/// the handler is added again under its old id and gets the events stored since it was new. A different id in the
/// result means that another instance has added it as a new handler meanwhile.
///
/// `instance`: the process that will run the handlers. It is stored with all handlers, retired handlers included, so
/// that `status` can name the instances that still configure a retired handler.
std::vector<Registered> register_handlers(Connection& connection, const std::vector<config::Handler>& handlers,
                                          const std::string& actor = "daemon",
                                          const std::vector<Registered>& before = {},
                                          const std::optional<InstanceIdentity>& instance = std::nullopt);

/// The registration of a configured handler, by its name or a former name; null: none.
const Registered* find_registered(const std::vector<Registered>& registered, const config::Handler& handler);

/// Whether the database knows these registrations, or later registrations of the same handlers.
bool are_registered(Connection& connection, const std::vector<Registered>& handlers);

/// Restores registrations that the database has lost, each under its old version, and returns a result for each. The
/// old version matters when an older configuration is restored first: an instance with a newer configuration still sees
/// that the handler is not up to date. Handlers that the database knows, in this form or a later form, stay unchanged.
/// A retired handler stays retired, unless the database has lost its restoration.
std::vector<Registered> restore_registrations(Connection& connection, const std::vector<Registered>& registered,
                                              const std::string& actor, const InstanceIdentity& instance);

/// The configured handlers that are retired: index and name in the database.
std::map<std::size_t, std::string> find_retired(Connection& connection, const std::vector<config::Handler>& handlers);

/// A problem if an alias of a configured handler is the name of another handler that is not retired: both have
/// deliveries of their own, so that this is no rename. Nothing changes.
std::optional<base::Problem> find_alias_clash(Connection& connection, const std::vector<config::Handler>& handlers);

/// Sets where dead letters of registered handlers are published. `group`: the consumer group that reads their topics.
/// To be repeated. `is_new`: the configuration has just been read, so its topic replaces another configuration's topic
/// at once.
void set_dead_letter_topics(Connection& connection, const std::vector<Registered>& handlers, const std::string& group,
                            bool is_new);

}  // namespace inboxd::inbox
