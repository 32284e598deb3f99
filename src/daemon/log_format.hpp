#pragma once
#include "base/log.hpp"
#include "config/settings.hpp"

namespace inboxd::daemon {

/// The configured format, or what `auto` means where stderr goes.
base::LogFormat format_of(const config::Log& log);

}  // namespace inboxd::daemon
