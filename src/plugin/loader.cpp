#include "plugin/loader.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "plugin/library.hpp"
#include "plugin/plugin_instance.hpp"
#include "plugin/trusted_file.hpp"

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

/// Plugin names found in the folders.
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

/// The name by which the dynamic linker and debuggers know a copy. The linker takes equal names for the same object, so
/// a descriptor that was loaded from is never closed. The process id lets a debugger in another process find the file.
std::string name_of(int copy) {
  std::error_code error;
  const std::string process = fs::read_symlink("/proc/self", error).string();
  return "/proc/" + (error ? "self" : process) + "/fd/" + std::to_string(copy);
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
  if (plugin.find('/') != std::string::npos) return plugin;
  for (const std::string& folder : where.folders) {
    const std::string path = folder + "/" + plugin + ".so";
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return base::Problem{
      "there is no plugin '" + plugin + "' (searched for " + plugin + ".so in " +
      base::joined(where.folders, "no folder") + "); available: " + base::joined(names_in(where), "none") +
      "; give the path of a file of your own with a slash: ./" + plugin + (plugin.ends_with(".so") ? "" : ".so")};
}

base::Result<Loader::Loaded> Loader::find_or_load(const std::string& plugin, bool& is_changed) {
  const auto found = find_file(plugin, where_);
  if (!found) return found.problem();
  const auto trusted = open_trusted(found.value());
  if (!trusted) return trusted.problem();
  const TrustedFile& file = trusted.value();

  const auto is_of_path = [&](const Loaded& loaded) { return loaded.path == file.path; };
  const auto last = std::find_if(loaded_.rbegin(), loaded_.rend(), is_of_path);
  const void* const before = last == loaded_.rend() ? nullptr : last->object;
  const auto same = std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& loaded) {
    return is_of_path(loaded) && have_same_bytes(loaded.copy, file.descriptor.get());
  });
  if (same != loaded_.end()) {
    std::rotate(same, std::next(same), loaded_.end());
  } else {
    auto copy = copy_to_memory(file);
    if (!copy) return copy.problem();
    const auto object = load_object(name_of(copy.value().get()), file.path);
    if (!object) return object.problem();
    loaded_.push_back({file.path, copy.value().release(), object.value()});
  }
  is_changed = before != nullptr && before != loaded_.back().object;
  return loaded_.back();
}

base::Result<Library> Loader::open(const std::string& plugin) {
  bool is_changed = false;
  const auto loaded = find_or_load(plugin, is_changed);
  if (!loaded) return loaded.problem();
  auto library = open_library(loaded.value().object, loaded.value().path);
  if (library) library.value().is_changed = is_changed;
  return library;
}

base::Result<Description> Loader::inspect(const std::string& plugin) {
  auto library = open(plugin);
  if (!library) return library.problem();
  const inboxd_plugin* const table = library.value().table;
  Description description{library.value().path,
                          table->name,
                          table->version,
                          table->abi_major,
                          table->abi_minor,
                          {},
                          std::move(library.value().remarks)};
  if (table->needs != nullptr) {
    for (const char* const* name = table->needs; *name != nullptr; ++name) description.extensions.emplace_back(*name);
  }
  return description;
}

base::Result<std::unique_ptr<Instance>> Loader::load(const config::Handler& handler, base::Logger& log,
                                                     transaction::SqlDescriber* describer) {
  const auto library = open(handler.plugin);
  if (!library) return library.problem();
  const inboxd_plugin* const table = library.value().table;
  if (library.value().is_changed) {
    log.info("plugin.file_changed", {{"file", library.value().path}, {"version", table->version}});
  }
  for (const Remark& remark : library.value().remarks) {
    log.write(remark.level, "handler: " + remark.text, {{"handler", handler.name}}, "handler.load_log");
  }
  return make_instance(table, handler, log, describer);
}

}  // namespace inboxd::plugin
