#pragma once
#include "cli/command.hpp"
#include "cli/present.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// An operation as a command: connects, asks before a change, shows progress, prints the document. `agreed` limits a
/// change to a plan that is known already, as Context::agreed; null: to none.
Command command_of(operations::Operation operation, Presenter presenter, operations::Document agreed = nullptr);

/// `status`, with `--watch`.
Command status_command(const operations::Operation& operation);

/// `status --watch`: the whole screen on a terminal, else the text again and again.
base::ExitCode watch_status(const Session& session, const operations::Arguments& arguments);

/// Every operation as a command.
std::vector<Command> operation_commands();

}  // namespace inboxd::cli
