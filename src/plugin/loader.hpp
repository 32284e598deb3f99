#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "plugin/instance.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::plugin {

/// A line that a plugin logged before it had a handler.
struct Remark {
  base::LogLevel level = base::LogLevel::info;
  std::string text;
};

/// A loaded plugin: version, extensions, file. Never unloaded.
struct Description {
  std::string path;
  std::string name;
  std::string version;
  int abi_major = 0;
  int abi_minor = 0;
  std::vector<std::string> extensions;  ///< names of the extensions that the plugin requires
  std::vector<Remark> remarks;          ///< lines it logged while it was loaded
};

/// Folders that are searched for plugins named without a slash.
struct SearchPath {
  std::vector<std::string> folders;
};

/// The folder of the shipped plugins: $INBOXD_PLUGIN_PATH, `plugins/` next to the executable, or <prefix>/lib/inboxd.
SearchPath default_search_path();

/// The file that `plugin:` in a configuration means: a path if it has a slash, else NAME.so in the first folder that
/// has it. The problem lists the folders and the names found there.
base::Result<std::string> find_file(const std::string& plugin, const SearchPath& where);

struct Library;

/// Loads plugins and remembers them by path: a file is loaded again only if its content has changed. Loaded code stays
/// until the process ends. Not thread-safe.
class Loader final {
 public:
  explicit Loader(SearchPath where = default_search_path()) : where_{std::move(where)} {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Loads, checks (ownership, ABI, symbol) and describes a plugin. Makes no instance.
  base::Result<Description> inspect(const std::string& plugin);

  /// Loads a plugin and makes an instance with the handler's settings; a problem names the remedy. The instance writes
  /// to the logger as long as it lives. `describer` answers the plugin's questions about its statements meanwhile;
  /// null: no database.
  base::Result<std::unique_ptr<Instance>> load(const config::Handler& handler, base::Logger& log,
                                               transaction::SqlDescriber* describer = nullptr);

 private:
  /// A copy of a plugin's file and the shared object made of it.
  struct Loaded {
    std::string path;
    int copy = -1;  ///< never closed
    void* object = nullptr;
  };

  base::Result<Library> open(const std::string& plugin);
  base::Result<Loaded> find_or_load(const std::string& plugin, bool& is_changed);

  const SearchPath where_;
  std::vector<Loaded> loaded_;  ///< several for a path: the current library comes last
};

}  // namespace inboxd::plugin
