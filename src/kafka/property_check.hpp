#pragma once
#include <optional>
#include <string>
#include <vector>

namespace inboxd::kafka {

// Checks of properties before there is a client. Each property is tried on a configuration of its own, which is thrown
// away. No file is read and no broker asked. Thread-safe.

/// Whether the library knows a property of that name, aliases and topic properties included.
bool knows_property(const std::string& name);

/// Whether the library documents the property for clients of a single kind: the other kind ignores it.
bool is_for_producers(const std::string& name);
bool is_for_consumers(const std::string& name);

/// Why the library refuses the value, in its own words (which may quote the value), with the accepted values if they
/// are documented; nullopt if it accepts the value. Conflicts between properties show only when a client is made.
std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value);

/// All documented names.
std::vector<std::string> property_names();

}  // namespace inboxd::kafka
