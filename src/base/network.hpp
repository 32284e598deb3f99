#pragma once
#include <optional>
#include <string>

namespace inboxd::base {

/// An address, or a network of addresses: `10.0.0.0/8`, `fd00::/8`. A value.
class Network final {
 public:
  /// nullopt: neither.
  static std::optional<Network> parse(const std::string& text);
  /// False for a text that is no address.
  bool contains(const std::string& address) const;

 private:
  std::string bytes_;
  std::size_t bits_ = 0;
};

}  // namespace inboxd::base
