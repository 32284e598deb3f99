#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/tree.hpp"

namespace inboxd::config {

/// What is shown in a secret's place.
inline constexpr std::string_view hidden = "********";

/// Whether a librdkafka property, or a plugin's own setting, holds a secret; told by its name.
bool is_secret_property(std::string_view name);
bool is_secret_setting(std::string_view name);

/// A secret from `{file: …}`, `{credential: …}`, `{env: …}` or a literal (with a warning where the file itself has
/// it). nullopt after a problem. Where the environment is offline the empty text stands for what was not looked up.
std::optional<std::string> read_secret(const Node& node, const std::string& key, const Environment& environment,
                                       Findings& findings);

/// The text with what is secret in URLs (`//user:password@`, `sslpassword=…`) hidden.
std::string without_secrets(std::string_view text);

}  // namespace inboxd::config
