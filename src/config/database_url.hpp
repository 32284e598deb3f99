#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace inboxd::config {

/// A database URL or key=value string, without the password.
struct SplitUrl {
  std::string url;
  std::optional<std::string> password;
};
/// The problem repeats no part of the URL, which may be a secret.
base::Result<SplitUrl> split_password(const std::string& url);

/// The URL or string as others may see it: users, hosts, databases, and parameters that hold no secrets. `hide` gives
/// the text in place of anything else.
std::string shown_database_url(const std::string& url, const std::function<std::string(const std::string&)>& hide);

}  // namespace inboxd::config
