#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "config/values.hpp"

namespace inboxd::config {

enum class Type {
  text,
  flag,
  number,
  fraction,
  duration,
  keep,  ///< a duration or `forever`
  size,
  start,  ///< one of the choices, or an RFC 3339 time
  choice,
  secret,
  texts,
  properties,       ///< librdkafka's own
  plugin_settings,  ///< a plugin's own
};

/// What is known about one key: loader, `config show`, reference, schema and the generated files all read this.
struct Description {
  std::string key;  ///< `ingest.batch_events`; within a topic or handler `retry.base`
  Type type = Type::text;
  std::string help;  ///< one sentence
  std::vector<std::string> choices;
  std::int64_t least = 0;  ///< numbers; milliseconds of durations; bytes of sizes
  std::int64_t most = 0;
  std::string pattern;  ///< POSIX extended regular expression for a text, or each of a list
  std::string wanted;   ///< what the pattern means: "…, such as …"
  std::string example;  ///< YAML, where the default is nothing
  bool is_required = false;
  bool is_in_minimal = false;       ///< stands in config/inboxd.minimal.yaml
  bool needs_restart = false;       ///< a reload refuses to change it
  bool has_common_default = false;  ///< may stand under handler_defaults
};

/// A key together with the field it fills. Owner: Settings, Topic or Handler.
template <class Owner>
struct Row {
  Description about;
  std::function<Value(const Owner&)> get;
  std::function<void(Owner&, const Value&)> set;
};

/// A group of keys and the sentence over it in the generated files. `list` groups are lists of topics or handlers.
struct Group {
  std::string name;
  std::string help;
};

/// Every key there is, in the order in which people should read them.
struct Table {
  std::vector<Group> groups;
  std::vector<Row<Settings>> settings;
  std::vector<Row<Topic>> topics;      ///< keys below `topics[]`
  std::vector<Row<Handler>> handlers;  ///< keys below `handlers[]`

  /// The rows that may stand under `handler_defaults`.
  std::vector<Row<Handler>> handler_defaults() const;
};

Table settings_table();

/// What a key accepts, to follow "is not" or "must be": `a whole number from 1 to 64`.
std::string wanted_by(const Description& about);

/// The same in few words, for documents: `1 to 64`. Empty where there is nothing to say beyond the key's sentence.
std::string range_of(const Description& about);

}  // namespace inboxd::config
