#include "base/base64.hpp"

#include <openssl/evp.h>

#include <limits>
#include <stdexcept>

namespace inboxd::base {
namespace {

auto* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const auto* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

constexpr std::size_t max_size = std::numeric_limits<int>::max() / 2;

}  // namespace

std::string base64(std::string_view bytes) {
  if (bytes.size() > max_size) throw std::length_error{"base64 of more than 1 GiB"};
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // a 0 is written behind the text
  EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > max_size) return std::nullopt;
  if (text.empty()) return std::string{};
  std::string out(text.size() / 4 * 3, '\0');
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const bool is_clean = text.find('=') >= text.size() - padding && text.find_first_of(" \t\r\n-") == text.npos;
  if (!is_clean || EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size())) < 0) {
    return std::nullopt;
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace inboxd::base
