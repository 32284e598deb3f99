#pragma once
#include <cstddef>
#include <optional>

#include "base/result.hpp"
#include "config/settings.hpp"

namespace inboxd::daemon {

/// Raises the process's limit of open files to the hard limit, at most 65,536 or as many as the configuration needs:
/// shells and services start with 1,024. Programs of handlers inherit it.
void raise_descriptor_limit(const config::Settings& settings);

/// The most descriptors that the daemon with this configuration opens.
std::size_t descriptors_needed(const config::Settings& settings);

/// A problem if the hard limit is lower than that.
std::optional<base::Problem> descriptors_problem(const config::Settings& settings);
/// As above, for a given limit. Pure.
std::optional<base::Problem> descriptors_problem(const config::Settings& settings, std::size_t limit);

}  // namespace inboxd::daemon
