#pragma once
#include <string>

#include "base/result.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::plugin {

/// The file that a configuration's `plugin:` means: a path where it has a slash, else NAME.so in the first folder that
/// has it. The path is canonical (no links, no `..`). The problem says where was looked and what is there.
base::Result<std::string> find_file(const std::string& plugin, const SearchPath& where);

}  // namespace inboxd::plugin
