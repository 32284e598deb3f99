#include "base/network.hpp"

#include <arpa/inet.h>

#include <charconv>

namespace inboxd::base {
namespace {

/// In network order; empty: no address.
std::string bytes_of(const std::string& address) {
  std::string out(sizeof(in6_addr), '\0');
  if (::inet_pton(AF_INET6, address.c_str(), out.data()) == 1) return out;
  out.resize(sizeof(in_addr));
  return ::inet_pton(AF_INET, address.c_str(), out.data()) == 1 ? out : std::string{};
}

}  // namespace

std::optional<Network> Network::parse(const std::string& text) {
  const auto slash = text.find('/');
  Network out;
  out.bytes_ = bytes_of(text.substr(0, slash));
  out.bits_ = 8 * out.bytes_.size();
  if (slash != std::string::npos) {
    std::size_t bits = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error != std::errc{} || after != end || bits > out.bits_) return std::nullopt;
    out.bits_ = bits;
  }
  if (out.bytes_.empty()) return std::nullopt;
  return out;
}

bool Network::contains(const std::string& address) const {
  const std::string given = bytes_of(address);
  if (given.size() != bytes_.size()) return false;
  for (std::size_t i = 0; i < bits_; ++i) {
    const auto difference = static_cast<unsigned char>(given[i / 8] ^ bytes_[i / 8]);
    if ((difference >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace inboxd::base
