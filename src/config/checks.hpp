#pragma once
#include "config/convert.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// What no key alone can be wrong about: names that must differ, limits that must fit each other, rules that need one
/// another. Keys that have had a problem of their own are left alone.
void check_together(const Settings& settings, Reading& reading);

}  // namespace inboxd::config
