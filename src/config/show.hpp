#pragma once
#include <string>

#include "config/load.hpp"

namespace inboxd::config {

/// `config show`: every key of a loaded configuration with its value and where that came from (`default`,
/// `inboxd.yaml:12`, `handler_defaults inboxd.yaml:30`), a line each. Secrets are `********`.
std::string show_text(const Loaded& loaded);

/// The same as one JSON document: {"file", "settings": [{"key", "value", "text", "origin", "line", "column"}]}: `text`
/// as show_text has it; `origin` is `default`, `file` or `handler_defaults`, line and column are there where it is not
/// `default`.
std::string show_json(const Loaded& loaded);

}  // namespace inboxd::config
