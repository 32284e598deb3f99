#pragma once
#include "config/convert.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// Checks keys against each other: unique names, matching limits, rules that require others. Skips keys that already
/// have a problem.
void check_together(const Settings& settings, Reading& reading);

}  // namespace inboxd::config
