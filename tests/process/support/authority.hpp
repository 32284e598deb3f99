#pragma once
#include <chrono>
#include <string>

#include "support/test_environment.hpp"

namespace inboxd::support {

/// A certificate authority of a test, made with `openssl` in a folder of its own.
class Authority final {
 public:
  struct Pair {
    std::string certificate, key;  ///< files
  };

  Authority();
  /// The file of its own certificate.
  std::string certificate() const { return path("ca.pem"); }
  /// A certificate for localhost and 127.0.0.1 with that common name, and its key. `valid`: from now on.
  Pair issue(const std::string& name, std::chrono::seconds valid = std::chrono::hours{24}) const;

 private:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const TempFolder folder_;
};

}  // namespace inboxd::support
