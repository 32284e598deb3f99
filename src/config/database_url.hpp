#pragma once
#include <optional>
#include <string>

#include "base/result.hpp"

namespace inboxd::config {

/// A database URL (or key=value string) with the password taken out.
struct SplitUrl {
  std::string url;
  std::optional<std::string> password;
};
/// The problem says what is wrong with the URL's form, without repeating any of it.
base::Result<SplitUrl> split_password(const std::string& url);

}  // namespace inboxd::config
