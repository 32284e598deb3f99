#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/settings.hpp"
#include "config/tree.hpp"

namespace inboxd::config {

/// Shown in place of a secret.
inline constexpr std::string_view hidden = "********";

/// Whether a librdkafka property, or a plugin's setting, holds a secret, judged by its name.
bool is_secret_property(std::string_view name);
bool is_secret_setting(std::string_view name);
/// As is_secret_setting; in doubt true.
bool may_be_secret(std::string_view name);

/// Whether the node is a form of a secret: `{file: …}`, `{credential: …}` or `{env: …}`.
bool is_secret_form(const Node& node);

/// A secret from `{file: …}`, `{credential: …}`, `{env: …}`, or a literal (with a warning if it is in the file itself).
/// nullopt after a problem. An offline environment gives an empty text instead.
std::optional<Secret> read_secret(const Node& node, const std::string& key, const Environment& environment,
                                  Findings& findings);

/// The text with secrets of URLs (`//user:password@`, `sslpassword=…`) hidden.
std::string without_secrets(std::string_view text);

}  // namespace inboxd::config
