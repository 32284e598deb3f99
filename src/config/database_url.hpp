#pragma once
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

}  // namespace inboxd::config
