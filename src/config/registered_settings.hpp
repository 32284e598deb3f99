#pragma once
#include <string>

#include "config/settings.hpp"

namespace inboxd::config {

/// A handler's settings as an instance registers them, so that instances can be compared, as JSON:
/// {"order": order_text, "topics": [...], "keys": {"retry.base": "5f0c2a91", "settings.url": ...}}. `keys` has all
/// other settings, each as a digest of the value that `config show` prints. Secrets, and values from files and the
/// environment, are hidden there and so not part of it: with a short digest without salt they could be guessed.
std::string registered_settings(const Handler& handler);

}  // namespace inboxd::config
