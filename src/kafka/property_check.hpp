#pragma once
#include <optional>
#include <string>
#include <vector>

namespace inboxd::kafka {

/// What the library says of a property before there is a client: each is tried on a configuration of its own, which is
/// thrown away. Reads no file and asks nobody. Thread-safe.

/// Whether it knows a property of that name, aliases and those of topics included.
bool knows_property(const std::string& name);

/// Whether it documents the property for producers alone: a consumer ignores it.
bool is_for_producers(const std::string& name);

/// Why it does not take the value, in its own words (which may quote the value), with what it takes where that is
/// documented; nullopt where it does. What only several properties together make wrong shows when a client is made.
std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value);

/// The names that it documents.
std::vector<std::string> property_names();

}  // namespace inboxd::kafka
