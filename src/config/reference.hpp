#pragma once
#include <string>

/// What is written from the settings table for people and editors. Pure functions; each text ends with a newline.
namespace inboxd::config {

/// `config reference`, which is also config/README.md: Markdown, every key with its default and what it accepts.
std::string reference();

/// `config schema`: JSON Schema (draft 2020-12) for editors. It knows keys, types and ranges; what several keys must
/// have in common only the loader knows.
std::string schema();

/// config/inboxd.yaml: every key commented out, with its default and a sentence. With the first `#` of each line
/// removed it is a configuration that loads.
std::string commented_yaml();

/// config/inboxd.minimal.yaml: what no configuration can do without.
std::string minimal_yaml();

}  // namespace inboxd::config
