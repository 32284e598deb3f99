#pragma once
#include <string>

#include "config/settings.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// Runs an operation in the running daemon of this configuration, over its admin port.
operations::Answer ask_daemon(const config::Settings& settings, const operations::Operation& operation,
                              const operations::Arguments& arguments);
/// Asks for an operation of the table, by its verb.
operations::Answer ask_daemon(const config::Settings& settings, const std::string& verb,
                              const operations::Arguments& arguments);

}  // namespace inboxd::cli
