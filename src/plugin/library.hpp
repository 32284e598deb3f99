#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/plugin.hpp"

namespace inboxd::plugin {

/// A shared object that was checked and loaded. It stays in the process for ever, so its table does, too.
struct Library {
  std::string path;                            ///< canonical
  const inboxd_plugin* table = nullptr;
  std::vector<Remark> remarks;                 ///< what it logged while it was asked for its table
};

/// Finds, checks and loads a plugin and asks it for its table. Nothing of a plugin that others may change is executed.
base::Result<Library> open_library(const std::string& plugin, const SearchPath& where);

/// What is wrong with a plugin's table, in words that follow "plugin file X "; nothing where it can be used. Fields
/// beyond the frozen ones are read only when the major number and the size say that they are there.
std::optional<std::string> fault_of(const inboxd_plugin* table);

}  // namespace inboxd::plugin
