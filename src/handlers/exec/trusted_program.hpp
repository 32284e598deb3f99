#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace exec_handler {

/// Why a program or script is not to be run, as a sentence with its remedy; nullopt: it may run. As with plugins, file
/// and folder must belong to a trusted user, and no other user may exchange them or a folder on the path. `users`:
/// trusted in addition to root.
std::optional<std::string> why_untrusted(const std::string& file, const std::vector<uid_t>& users);

}  // namespace exec_handler
