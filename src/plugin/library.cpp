#include "plugin/library.hpp"

#include <dlfcn.h>

#include <cstddef>

#include "plugin/abi/inboxd/async.h"
#include "plugin/abi/inboxd/outbox.h"
#include "plugin/host.hpp"

namespace inboxd::plugin {
namespace {

constexpr const char* entry_name = "inboxd_plugin_entry";

/// The size of the table in version 1.0, the smallest of this major version.
constexpr std::size_t smallest_table = offsetof(inboxd_plugin, destroy) + sizeof(inboxd_plugin::destroy);

std::string version_text(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

/// dlerror without the name that dlopen was given.
std::string last_error(const std::string& name) {
  const char* const error = ::dlerror();
  const std::string text = error == nullptr ? "no reason given" : error;
  return text.starts_with(name + ": ") ? text.substr(name.size() + 2) : text;
}

/// The entry symbol that a plugin exports.
struct Entry {
  const inboxd_plugin* (*ask)(const inboxd_host*);
};

base::Result<Entry> find_entry(void* object, const std::string& path) {
  void* const symbol = ::dlsym(object, entry_name);
  if (symbol == nullptr) {
    return base::Problem{"plugin file " + path + " has no function " + entry_name +
                         "; export it with INBOXD_HANDLER in C++ or INBOXD_EXPORT in C"};
  }
  return Entry{reinterpret_cast<const inboxd_plugin* (*)(const inboxd_host*)>(symbol)};
}

std::string said(const std::vector<Remark>& remarks) {
  return remarks.empty() ? "it logged no reason; ask its author" : remarks.back().text;
}

base::Result<Library> ask_for_table(const std::string& path, Entry entry) {
  Library library{path, nullptr, {}, false};
  const EntryHost host{library.remarks};
  try {
    library.table = entry.ask(&host);
  } catch (...) {
    return base::Problem{"plugin file " + path + ": " + entry_name +
                         " threw an exception; it must return its table, or log the reason with host->log and "
                         "return NULL"};
  }
  if (library.table == nullptr) {
    return base::Problem{"plugin file " + path + " refuses inboxd " INBOXD_VERSION ": " + said(library.remarks)};
  }
  return library;
}

std::optional<std::string> missing_extension(const inboxd_plugin* table) {
  if (table->needs == nullptr) return std::nullopt;
  bool is_async = false, has_sql = false;
  for (const char* const* name = table->needs; *name != nullptr; ++name) {
    is_async = is_async || *name == std::string_view{INBOXD_ASYNC};
    has_sql = has_sql || *name == std::string_view{INBOXD_SQL} || *name == std::string_view{INBOXD_OUTBOX};
    if (!has_extension(*name)) {
      return "needs the extension " + std::string{*name} +
             ", which inboxd " INBOXD_VERSION " does not have; use a newer inboxd, or a plugin that works without it";
    }
  }
  if (is_async && has_sql) {
    return "needs both " INBOXD_ASYNC " and SQL or the outbox; a transaction is bound to a thread, so take one of them";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of(const inboxd_plugin* table) {
  const std::string ours = version_text(INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR);
  if (table->abi_major != INBOXD_ABI_MAJOR) {
    return "was built for version " + version_text(table->abi_major, table->abi_minor) +
           " of the handler interface, this inboxd has " + ours + "; rebuild it with the headers of inboxd " +
           INBOXD_VERSION;
  }
  if (table->struct_size < smallest_table) {
    return "has a table of " + std::to_string(table->struct_size) + " bytes, version " +
           version_text(table->abi_major, table->abi_minor) + " has at least " + std::to_string(smallest_table) +
           "; struct_size must be sizeof(inboxd_plugin)";
  }
  if (table->name == nullptr || *table->name == '\0') return "has no name in its table; set a name, such as "
                                                             "\"receipt\"";
  if (table->version == nullptr) return "has no version in its table; set a version, such as \"1.0\"";
  if (table->create == nullptr || table->handle == nullptr || table->destroy == nullptr) {
    return "has a NULL function in its table; set create, handle and destroy";
  }
  return missing_extension(table);
}

base::Result<void*> load_object(const std::string& name, const std::string& path) {
  // Never closed: its threads, destructors and texts may be in use until the process ends.
  void* const object = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object != nullptr) return object;
  return base::Problem{"plugin file " + path + " cannot be loaded: " + last_error(name) +
                       "; it must be a shared object for this machine, and all its libraries must be found (it needs "
                       "an absolute RUNPATH for libraries in its folder: $ORIGIN does not work)"};
}

base::Result<Library> open_library(void* object, const std::string& path) {
  const auto entry = find_entry(object, path);
  if (!entry) return entry.problem();
  auto library = ask_for_table(path, entry.value());
  if (!library) return library;
  if (auto fault = fault_of(library.value().table)) return base::Problem{"plugin file " + path + " " + *fault};
  return library;
}

}  // namespace inboxd::plugin
