#pragma once
#include <chrono>
#include <functional>

#include "config/load.hpp"
#include "operations/check.hpp"

namespace inboxd::cli {

/// The checks of the file alone: problems and warnings of loading it, and connections that it leaves open to others.
operations::FoundList check_file(const config::Loaded& loaded);

/// All other checks of a file without problems: database, plugins, services, registries, brokers. Blocks; `add` gets
/// findings as soon as they are known. The connections need `prepare: false`. `patience` limits each of two questions
/// to the brokers.
void check_all(const config::Loaded& loaded, inbox::Connection& first, inbox::Connection& second,
               std::chrono::milliseconds patience, const std::function<void(operations::FoundList)>& add);

}  // namespace inboxd::cli
