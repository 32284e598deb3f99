#pragma once
#include <string>
#include <vector>

#include "inbox/handler_registration.hpp"

/// Registrations of a configuration that has not just been read. They must not make it the newest configuration.
namespace inboxd::inbox {

/// As register_handlers, for the configuration in force: changes no row of a handler that is registered in `before`,
/// unless the database has lost it. A handler without an earlier registration, such as a restored handler, takes its
/// row only if no live instance has registered it since this process did.
std::vector<Registered> repeat_registrations(Connection& connection, const std::vector<config::Handler>& handlers,
                                             const std::string& actor, const std::vector<Registered>& before,
                                             const InstanceIdentity& instance);

/// Changes the order settings of handlers to this process's settings, if every instance that has the present settings
/// is gone: otherwise no process would run them. Topics, types and names stay, because a newer configuration may have
/// set them. Of several live instances, the last to register does so. Returns a result for each, with `change` if it is
/// changed. Locks routing if there is a handler to change.
std::vector<Registered> take_orphaned_orders(Connection& connection, const std::vector<Registered>& registered,
                                             const std::string& actor, const base::Uuid& instance_id);

}  // namespace inboxd::inbox
