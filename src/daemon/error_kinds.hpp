#pragma once
#include <string_view>
#include <vector>

namespace inboxd::daemon {

/// The sentences of all lines that there are at level error, so that they are counted from nought.
const std::vector<std::string_view>& error_kinds();

}  // namespace inboxd::daemon
