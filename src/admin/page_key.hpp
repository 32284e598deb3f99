#pragma once
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

/// A key that cannot be guessed, as hexadecimal digits.
std::string random_page_key();

/// The way into the page without a set-up: a random key that a running daemon keeps in a file, which only its own user
/// and root may read. The file goes away with this object. After a crash the next start replaces it.
class PageKey final {
 public:
  PageKey() = default;
  ~PageKey();
  PageKey(const PageKey&) = delete;
  PageKey& operator=(const PageKey&) = delete;

  /// Writes a new key, once. Without a page on a port nothing is written. Returns the problem.
  std::string write(const config::Admin& settings);

  /// Empty: there is none.
  const std::string& text() const { return text_; }

 private:
  std::filesystem::path file_;
  std::string text_;
};

/// The key of the daemon of this configuration on this machine. The caller must be the daemon's user, or root.
base::Result<std::string> read_page_key(const config::Admin& settings);

/// The rights of the key's holder, with the default resolved: full with admin.token, else read-only.
config::AdminUi rights_of_page(const config::Admin& settings);

}  // namespace inboxd::admin
