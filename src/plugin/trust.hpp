#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"

namespace inboxd::plugin {

/// Whether code may be loaded from the file at this canonical path: a regular, readable file of root's or the daemon's
/// user, in a folder of theirs, and neither it nor a folder above it may be changed by everybody. A folder that
/// everybody may write to passes where it is sticky (/tmp) and what is in it on the way to the file belongs to root or
/// the daemon's user. Group rights are the administrator's choice and not looked at. The problem says what would be
/// right.
std::optional<base::Problem> distrust(const std::string& path);

}  // namespace inboxd::plugin
