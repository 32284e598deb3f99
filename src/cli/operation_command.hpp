#pragma once
#include "cli/command.hpp"
#include "cli/present.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// An operation as a command: connects, asks before a change, shows progress, prints the document.
Command command_of(operations::Operation operation, Presenter presenter);

/// `status`, with `--watch`.
Command status_command(const operations::Operation& operation);

/// Every operation as a command.
std::vector<Command> operation_commands();

}  // namespace inboxd::cli
