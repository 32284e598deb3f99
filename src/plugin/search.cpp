#include "plugin/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "base/text.hpp"

namespace inboxd::plugin {
namespace {

namespace fs = std::filesystem;

void append_folders(std::vector<std::string>& out, std::string_view colon_separated) {
  while (!colon_separated.empty()) {
    const std::size_t end = std::min(colon_separated.find(':'), colon_separated.size());
    if (end > 0) out.emplace_back(colon_separated.substr(0, end));
    colon_separated.remove_prefix(std::min(end + 1, colon_separated.size()));
  }
}

/// The names that could have been given.
std::set<std::string> names_in(const SearchPath& where) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const std::string& folder : where.folders) {
    for (fs::directory_iterator it{folder, ignored}, end; it != end; it.increment(ignored)) {
      if (it->path().extension() == ".so") names.insert(it->path().stem().string());
    }
  }
  return names;
}

base::Result<std::string> canonical(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  if (!error) return found.string();
  std::error_code ignored;
  return base::Problem{"plugin file " + fs::absolute(path, ignored).string() + " cannot be reached: " +
                       error.message() + "; give the path of a shared object that the daemon's user can read"};
}

}  // namespace

SearchPath default_search_path() {
  SearchPath where;
  if (const char* const named = std::getenv("INBOXD_PLUGIN_PATH"); named != nullptr) {
    append_folders(where.folders, named);
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = executable.parent_path();
    where.folders.push_back((folder / "plugins").string());
    where.folders.push_back((folder.parent_path() / "lib" / "inboxd").string());
  }
  return where;
}

base::Result<std::string> find_file(const std::string& plugin, const SearchPath& where) {
  if (plugin.find('/') != std::string::npos) return canonical(plugin);
  for (const std::string& folder : where.folders) {
    const std::string path = folder + "/" + plugin + ".so";
    std::error_code ignored;
    if (fs::exists(path, ignored)) return canonical(path);
  }
  return base::Problem{
      "there is no plugin '" + plugin + "' (looked for " + plugin + ".so in " +
      base::joined(where.folders, "no folder") + "); there is: " + base::joined(names_in(where), "none") +
      "; a file of your own is named by its path, with a slash: ./" + plugin + (plugin.ends_with(".so") ? "" : ".so")};
}

}  // namespace inboxd::plugin
