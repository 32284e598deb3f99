#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace http_handler {

/// Signs requests as Standard Webhooks describes (symmetric, `v1`). With several secrets, for rotation, each signs.
class Signer {
 public:
  Signer() = default;
  /// The setting: `whsec_` and base64, or a JSON list of them. Throws inboxd::SettingsError, without the secret.
  explicit Signer(const std::string& setting);

  bool is_on() const { return !keys_.empty(); }
  /// The value of `webhook-signature`. `timestamp`: seconds since 1970.
  std::string sign(std::string_view id, std::int64_t timestamp, std::string_view body) const;

 private:
  std::vector<std::string> keys_;  ///< bytes
};

}  // namespace http_handler
