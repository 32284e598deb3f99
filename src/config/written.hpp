#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/table.hpp"

namespace inboxd::config {

/// A value as a configuration file would say it, on one line: `30s`, `[orders, "a b"]`; secrets are hidden. Empty
/// where the key says nothing (no text, no secret).
std::string written(const Description& about, const Value& value);

/// The same for programs: numbers, flags and lists as JSON has them, the rest as text, null for nothing.
nlohmann::json json_written(const Description& about, const Value& value);

/// What is shown of one entry of a map (librdkafka's properties, a plugin's settings): secrets hidden.
std::string entry_written(const Description& about, const std::string& name, const std::string& text);

/// A text as a YAML scalar: in double quotes only where a plain one would mean something else.
std::string yaml_scalar(const std::string& text);

}  // namespace inboxd::config
