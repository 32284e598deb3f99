#include "base/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace inboxd::base {
namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  std::size_t size = 0;
  if (EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), bytes_of(bytes), bytes.size(),
                reinterpret_cast<unsigned char*>(out.data()), out.size(), &size) == nullptr) {
    throw std::runtime_error("OpenSSL could not compute HMAC-SHA-256");
  }
  out.resize(size);
  return out;
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a NUL
  out.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(bytes),
                                                      static_cast<int>(bytes.size()))));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const auto last = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
  if (text.size() % 4 != 0 || text.size() > 1U << 20 || (last != text.npos && last != text.size() - padding)) {
    return std::nullopt;
  }
  std::string out(text.size() / 4 * 3, '\0');
  auto* const to = reinterpret_cast<unsigned char*>(out.data());
  if (EVP_DecodeBlock(to, bytes_of(text), static_cast<int>(text.size())) < 0) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

}  // namespace inboxd::base
