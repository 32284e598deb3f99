#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/load.hpp"
#include "config/settings_table.hpp"

/// Values as text and JSON for people and programs. Secrets appear as `********`, and in `show_*` every text that may
/// hold a secret (exposure.hpp). Pure functions.
namespace inboxd::config {

/// A value as a configuration file would say it, on a single line: `30s`, `[orders, "a b"]`. Empty for an empty text or
/// secret.
std::string written(const Description& about, const Value& value);

/// A value for programs: numbers, flags and lists as JSON, the rest as text, null for an empty text or secret.
nlohmann::json json_written(const Description& about, const Value& value);

/// An entry of a map: librdkafka's properties, a plugin's settings. `secrets`: texts that came from a form, by key;
/// `key`: the entry's.
std::string entry_written(const Description& about, const std::string& name, const std::string& text,
                          const Secrets& secrets = {}, const std::string& key = {});

/// Whether the value, or an entry of a list, came from a form and has to be hidden as a whole. Not for a type that
/// `written` hides.
bool is_from_form(const Secrets& secrets, const std::string& key, const Value& value);

/// A text as a YAML scalar, in double quotes if a plain scalar would mean something else.
std::string yaml_scalar(const std::string& text);

/// `config show`: a line for each key with its value and origin (`default`, `inboxd.yaml:12`,
/// `handler_defaults inboxd.yaml:30`).
std::string show_text(const Loaded& loaded);

/// The settings as a JSON document: {"file", "settings": [{"key", "value", "text", "origin", "line", "column"}]}.
/// `text` is as in show_text; `origin` is `default`, `file` or `handler_defaults`; a default has no line and column.
std::string show_json(const Loaded& loaded);

/// The texts that show_text and show_json hide, for `without_texts`.
Texts hidden_texts(const Loaded& loaded);

}  // namespace inboxd::config
