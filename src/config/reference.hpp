#pragma once
#include <string>

/// Documents generated from the settings table, for people and editors. Pure functions; each text ends with a newline.
namespace inboxd::config {

/// `config reference`, also config/README.md: Markdown, every key with its default and accepted values.
std::string reference();

/// config/inboxd.yaml: every key commented out, with its default and a sentence. Without the first `#` of each line it
/// is a configuration that loads.
std::string commented_yaml();

/// config/inboxd.minimal.yaml: the required keys.
std::string minimal_yaml();

/// `config schema` (json_schema.cpp): JSON Schema, draft 2020-12, for editors. It knows keys, types and ranges; only
/// the loader checks keys against each other.
std::string schema();

}  // namespace inboxd::config
