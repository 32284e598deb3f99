#pragma once
#include "admin/operation.hpp"
#include "cli/command.hpp"
#include "cli/present.hpp"

namespace inboxd::cli {

/// An operation of floor 4 as a command: connects, asks where something is changed, shows progress, prints the
/// document.
Command command_of(admin::Operation operation, Presenter presenter);

/// `status`, which can also be watched.
Command status_command(const admin::Operation& operation);

/// Every command that is an operation.
std::vector<Command> operation_commands();

}  // namespace inboxd::cli
