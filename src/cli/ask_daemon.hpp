#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "config/settings.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// Runs an operation in the running daemon of this configuration, over its admin port.
operations::Answer ask_daemon(const config::Settings& settings, const operations::Operation& operation,
                              const operations::Arguments& arguments,
                              std::optional<std::chrono::milliseconds> timeout = std::nullopt);
/// Asks for an operation of the table, by its verb. `timeout`: nullopt: as long as the daemon may take.
operations::Answer ask_daemon(const config::Settings& settings, const std::string& verb,
                              const operations::Arguments& arguments,
                              std::optional<std::chrono::milliseconds> timeout = std::nullopt);

}  // namespace inboxd::cli
