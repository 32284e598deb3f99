#pragma once
#include <string>
#include <vector>

#include "inbox/handler_registration.hpp"

/// Registrations of a configuration that has not just been read. They must not make it the newest one.
namespace inboxd::inbox {

/// As register_handlers, for the configuration in force: changes no row of a handler that is registered in `before`,
/// unless the database has lost it. A handler without an earlier registration, such as a restored one, takes its row
/// only if no live instance has registered it since this one did.
std::vector<Registered> repeat_registrations(Connection& connection, const std::vector<config::Handler>& handlers,
                                             const std::string& actor, const std::vector<Registered>& before,
                                             const InstanceIdentity& instance);

}  // namespace inboxd::inbox
