#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/loader.hpp"

namespace inboxd::plugin {

/// A shared object that was checked and loaded. It is never unloaded, so its table stays valid.
struct Library {
  std::string path;  ///< canonical
  const inboxd_plugin* table = nullptr;
  std::vector<Remark> remarks;  ///< lines it logged while it was asked for its table
  bool is_changed = false;      ///< this path had other code before
};

/// Loads a shared object for good and runs its initialisers. `path` is its name in problems.
base::Result<void*> load_object(const std::string& name, const std::string& path);

/// Asks a loaded shared object for its table and checks it.
base::Result<Library> open_library(void* object, const std::string& path);

/// The defect of a plugin's table, in words that follow "plugin file X "; nullopt if it is usable. Fields beyond the
/// frozen fields are read only if the major version and the size allow it.
std::optional<std::string> fault_of(const inboxd_plugin* table);

}  // namespace inboxd::plugin
