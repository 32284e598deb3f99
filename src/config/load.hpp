#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// The origin of a key's value.
struct Origin {
  enum class From { default_value, file, handler_defaults };
  From from = From::default_value;
  Place place;  ///< none for a default
  bool operator==(const Origin&) const = default;
};

/// A configuration file as read. The settings are valid only if `ok()`; `problems` has all of them, not just the first.
struct Loaded {
  std::string file;
  Settings settings;
  std::map<std::string, Origin> origins;   ///< by key (`handlers[0].retry.base`), without defaults
  std::map<std::string, TextPlace> texts;  ///< by key, for plugins' settings that are texts
  Secrets secrets;                         ///< by key, the values from `{file:}`, `{credential:}` and `{env:}`
  std::string text;                        ///< the file's; read again with other secrets when they have changed
  std::vector<Finding> problems;
  std::vector<Finding> warnings;

  bool ok() const { return problems.empty(); }
};

/// Reads and checks a configuration file, its secrets and environment variables; no database, brokers or plugins. Never
/// throws for the content of a file. Blocks on file I/O.
Loaded load_file(const std::string& path, const Environment& environment);

/// As `load`, for a text; messages call it `file`.
Loaded load_text(std::string_view text, const std::string& file, const Environment& environment);

/// The text with the secrets of the configuration hidden, for messages of others that may quote a setting.
std::string without_secrets(std::string text, const Loaded& loaded);

/// `file:line:column` of a character in a setting of a handler's plugin; line and column count from 1, columns in
/// bytes. If the setting is not in the file: the place of the nearest enclosing key.
std::string place_of_setting(const Loaded& loaded, std::size_t handler, const std::string& setting, int line,
                             int column);

/// The keys that differ and need a restart (restart_keys.cpp), such as `kafka.group` or `topics[0].start`; `topics` if
/// topics of Kafka were added, removed or reordered. Empty: a reload is enough.
std::vector<std::string> restart_needed(const Settings& before, const Settings& after);

/// Takes the local topics of `from` in place of those of `topics`, in the order of `from`; topics of Kafka stay.
void take_local_topics(std::vector<Topic>& topics, const std::vector<Topic>& from);

/// Takes the retention of each topic, which needs no restart, unless the list of topics has changed.
void take_retention(std::vector<Topic>& topics, const std::vector<Topic>& from);

/// Copies the origins of `kept` keys and all keys below them from `before` into `after`.
void keep_origins(const std::vector<std::string>& kept, const std::map<std::string, Origin>& before,
                  std::map<std::string, Origin>& after);

}  // namespace inboxd::config
