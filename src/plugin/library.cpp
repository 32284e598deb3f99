#include "plugin/library.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "plugin/host.hpp"
#include "plugin/search.hpp"
#include "plugin/trust.hpp"

namespace inboxd::plugin {
namespace {

constexpr const char* entry_name = "inboxd_plugin_entry";

/// The size of the table in version 1.0: no plugin of this major version has a smaller one.
constexpr std::size_t smallest_table = offsetof(inboxd_plugin, destroy) + sizeof(inboxd_plugin::destroy);

std::string version_text(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::string last_error() {
  const char* const error = ::dlerror();
  return error == nullptr ? "no reason given" : error;
}

/// The function that a plugin exports.
struct Entry {
  const inboxd_plugin* (*ask)(const inboxd_host*);
};

base::Result<Entry> find_entry(const std::string& path) {
  // Never closed: threads, destructors and texts of the plugin may be in use until the process ends.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return base::Problem{"plugin file " + path + " cannot be loaded: " + last_error() +
                         "; it must be a shared object for this machine that is linked with all it needs"};
  }
  void* const symbol = ::dlsym(library, entry_name);
  if (symbol == nullptr) {
    return base::Problem{"plugin file " + path + " has no function " + entry_name +
                         "; a handler exports it with INBOXD_HANDLER in C++ or INBOXD_EXPORT in C"};
  }
  return Entry{reinterpret_cast<const inboxd_plugin* (*)(const inboxd_host*)>(symbol)};
}

/// The file that the code at that address came from, as the kernel has it by now: of one that was replaced " (deleted)"
/// stands behind the name, or it is another name. Empty where the kernel does not say.
std::string file_of(std::uintptr_t address) {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2 || address < begin || address >= end) continue;
    const auto name = line.find('/');
    return name == line.npos ? "" : line.substr(name);
  }
  return {};
}

/// Loaded is by name: whoever is loaded already is taken for the file, whatever the file is by now.
std::optional<Remark> replaced(const std::string& path, Entry entry) {
  const std::string loaded = file_of(reinterpret_cast<std::uintptr_t>(entry.ask));
  if (loaded.empty() || loaded == path) return std::nullopt;
  return Remark{base::LogLevel::warn, "plugin file " + path +
                                          " was replaced since this process loaded it, and goes on as it was; a "
                                          "restart takes the new one, a reload one of another name"};
}

std::string said(const std::vector<Remark>& remarks) {
  return remarks.empty() ? "it gave no reason" : "it says: " + remarks.back().text;
}

base::Result<Library> ask_for_table(const std::string& path, Entry entry) {
  Library library{path, nullptr, {}};
  const EntryHost host{library.remarks};
  try {
    library.table = entry.ask(&host);
  } catch (...) {
    return base::Problem{"plugin file " + path + ": an exception left " + entry_name +
                         "; it must return its table, or NULL after it has said why through host->log"};
  }
  if (library.table == nullptr) {
    return base::Problem{"plugin file " + path + " cannot work in this inboxd: " + said(library.remarks)};
  }
  return library;
}

std::optional<std::string> missing_extension(const inboxd_plugin* table) {
  if (table->needs == nullptr) return std::nullopt;
  for (const char* const* name = table->needs; *name != nullptr; ++name) {
    if (!has_extension(*name)) {
      return "needs the extension " + std::string{*name} + ", which inboxd " INBOXD_VERSION
             " does not have; it takes a newer inboxd, or a plugin that does without";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of(const inboxd_plugin* table) {
  const std::string ours = version_text(INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR);
  if (table->abi_major != INBOXD_ABI_MAJOR) {
    return "was built for version " + version_text(table->abi_major, table->abi_minor) +
           " of the handler interface, this inboxd has " + ours + "; build it again with the headers of inboxd " +
           INBOXD_VERSION;
  }
  if (table->struct_size < smallest_table) {
    return "has a table of " + std::to_string(table->struct_size) + " bytes, version " +
           version_text(table->abi_major, table->abi_minor) + " has at least " + std::to_string(smallest_table) +
           "; struct_size must be sizeof(inboxd_plugin)";
  }
  if (table->name == nullptr || *table->name == '\0') return "has no name in its table; it must have a short one";
  if (table->version == nullptr) return "has no version in its table; it must have one, such as \"1.0\"";
  if (table->create == nullptr || table->handle == nullptr || table->destroy == nullptr) {
    return "has an empty function in its table; create, handle and destroy must all be there";
  }
  return missing_extension(table);
}

base::Result<Library> open_library(const std::string& plugin, const SearchPath& where) {
  auto path = find_file(plugin, where);
  if (!path) return path.problem();
  if (auto problem = distrust(path.value())) return *problem;
  auto entry = find_entry(path.value());
  if (!entry) return entry.problem();
  auto library = ask_for_table(path.value(), entry.value());
  if (!library) return library;
  if (auto fault = fault_of(library.value().table)) return base::Problem{"plugin file " + path.value() + " " + *fault};
  if (auto remark = replaced(path.value(), entry.value())) library.value().remarks.push_back(std::move(*remark));
  return library;
}

}  // namespace inboxd::plugin
