#include "base/sha256.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace inboxd::base {
namespace {

/// Cached: OpenSSL's search for an algorithm takes as long as the hash of a short text.
const EVP_MD* sha256() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (algorithm == nullptr) throw std::runtime_error("SHA-256 is not available in this OpenSSL");
  return algorithm;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL could not compute SHA-256");
  }
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out += digits[digest[i] >> 4];
    out += digits[digest[i] & 15];
  }
  return out;
}

}  // namespace inboxd::base
