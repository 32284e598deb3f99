#include "base/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdexcept>

namespace inboxd::base {
std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  std::size_t size = 0;
  const auto* const from = reinterpret_cast<const unsigned char*>(bytes.data());
  if (EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), from, bytes.size(),
                reinterpret_cast<unsigned char*>(out.data()), out.size(), &size) == nullptr) {
    throw std::runtime_error("OpenSSL could not compute HMAC-SHA-256");
  }
  out.resize(size);
  return out;
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace inboxd::base
