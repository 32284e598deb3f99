#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::config {

using Texts = std::vector<std::string>;
using TextMap = std::map<std::string, std::string>;

/// The value of a key. The key's type decides the alternative: choices (by index) and sizes are numbers.
using Value = std::variant<bool, std::int64_t, double, std::string, std::chrono::milliseconds, Retention::Keep, StartAt,
                           Secret, Texts, TextMap, RetryRules>;

enum class Type {
  text,
  flag,
  number,
  fraction,
  duration,
  keep,  ///< a duration or `forever`
  size,
  start,  ///< a choice, or an RFC 3339 time
  choice,
  secret,
  secrets,  ///< one, or a list of them for rotation
  texts,
  rules,            ///< retry.rules
  properties,       ///< librdkafka's own
  plugin_settings,  ///< a plugin's own
};

/// How much of a text `config show` and the file of `doctor` show to others. A new row hides its text.
enum class Exposure {
  nothing,     ///< it may hold a secret
  whole,       ///< everything: a name, a path, an expression, a choice
  addresses,   ///< schemes, hosts and ports of URLs or brokers
  database,    ///< of a libpq URL or key=value pairs: user, hosts, database and harmless parameters
  numbers,     ///< numbers, durations, sizes and flags
  program,     ///< the first text of a list
  properties,  ///< of librdkafka: harmless properties
  statement,   ///< nothing of an SQL statement; its names are harmless elsewhere, its literals are not
};

/// A key of the configuration. Loader, `config show`, reference, schema and the generated files all read this.
struct Description {
  std::string key;  ///< `ingest.batch_events`; within a topic or handler `retry.base`
  Type type = Type::text;
  std::string help;  ///< a sentence
  std::vector<std::string> choices;
  std::int64_t least = 0;  ///< a number, milliseconds or bytes
  std::int64_t most = 0;
  std::string pattern;  ///< POSIX extended regular expression for a text, or each entry of a list
  std::string wanted;   ///< the pattern in words: "…, such as …"
  std::string example;  ///< YAML, for a key without a default
  Exposure exposure = Exposure::nothing;  ///< of a text or texts; other types are harmless, or hidden by their type
  bool is_required = false;
  bool is_in_minimal = false;       ///< part of config/inboxd.minimal.yaml
  bool needs_restart = false;       ///< a reload keeps the old value
  bool has_common_default = false;  ///< allowed under handler_defaults
};

/// A key and the field it fills. Owner: Settings, Topic or Handler.
template <class Owner>
struct Row {
  Description about;
  std::function<Value(const Owner&)> get;
  std::function<void(Owner&, const Value&)> set;
};

/// A group of keys and the sentence above it in the generated files.
struct Group {
  std::string name;
  std::string help;
};

/// Every key, in reading order.
struct Table {
  std::vector<Group> groups;
  std::vector<Row<Settings>> settings;
  std::vector<Row<Topic>> topics;      ///< keys below `topics[]`
  std::vector<Row<Handler>> handlers;  ///< keys below `handlers[]`

  /// The rows allowed under `handler_defaults`.
  std::vector<Row<Handler>> handler_defaults() const;
};

Table settings_table();

/// The accepted values, to follow "is not" or "must be": `a whole number from 1 to 64`.
std::string wanted_by(const Description& about);

/// The range in few words, for documents: `1 to 64`. Empty if the key's sentence says it all.
std::string range_of(const Description& about);

}  // namespace inboxd::config
