#include "base/uuid.hpp"

#include <openssl/evp.h>
#include <sys/random.h>

#include <cstring>
#include <stdexcept>

namespace inboxd::base {
namespace {

/// The value of each hexadecimal digit, -1 for all other characters.
constexpr std::array<std::int8_t, 256> hex_values = [] {
  std::array<std::int8_t, 256> out{};
  out.fill(-1);
  for (std::size_t i = 0; i < 10; ++i) out['0' + i] = static_cast<std::int8_t>(i);
  for (std::size_t i = 0; i < 6; ++i) out['a' + i] = out['A' + i] = static_cast<std::int8_t>(10 + i);
  return out;
}();

int hex_value(char c) { return hex_values[static_cast<unsigned char>(c)]; }

/// The positions of each byte's two digits in the text.
constexpr std::array<std::uint8_t, 16> digits_at{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void fill_random(void* out, std::size_t size) {
  // getrandom never returns fewer bytes than requested, up to 256.
  if (getrandom(out, size, 0) != static_cast<ssize_t>(size)) {
    throw std::runtime_error("the kernel returned no random numbers");
  }
}

/// Cached: OpenSSL's search for an algorithm takes as long as the hash of a short name.
const EVP_MD* sha1() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA1", nullptr);
  if (algorithm == nullptr) throw std::runtime_error("SHA-1 is not available in this OpenSSL");
  return algorithm;
}

}  // namespace

std::string Uuid::text() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out(36, '-');
  for (std::size_t i = 0; i < 16; ++i) {
    out[digits_at[i]] = digits[bytes[i] >> 4];
    out[digits_at[i] + 1U] = digits[bytes[i] & 15];
  }
  return out;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  std::optional<Uuid> out{std::in_place};
  int valid = 0;  // negative after an invalid digit: a single branch for all digits
  for (std::size_t i = 0; i < 16; ++i) {
    const int high = hex_value(text[digits_at[i]]);
    const int low = hex_value(text[digits_at[i] + 1U]);
    valid |= high | low;
    out->bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (valid < 0) out.reset();
  return out;
}

Uuid uuid_v5(const Uuid& name_space, std::string_view name) {
  std::string input(reinterpret_cast<const char*>(name_space.bytes.data()), 16);
  input.append(name);
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (EVP_Digest(input.data(), input.size(), digest, nullptr, sha1(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL could not compute SHA-1");
  }
  Uuid out;
  std::memcpy(out.bytes.data(), digest, 16);
  out.bytes[6] = static_cast<std::uint8_t>((out.bytes[6] & 0x0f) | 0x50);
  out.bytes[8] = static_cast<std::uint8_t>((out.bytes[8] & 0x3f) | 0x80);
  return out;
}

Uuid random_uuid() {
  Uuid out;
  fill_random(out.bytes.data(), 16);
  out.bytes[6] = static_cast<std::uint8_t>((out.bytes[6] & 0x0f) | 0x40);
  out.bytes[8] = static_cast<std::uint8_t>((out.bytes[8] & 0x3f) | 0x80);
  return out;
}

std::int64_t random_fence() {
  std::int64_t out = 0;
  while (out == 0) fill_random(&out, sizeof out);
  return out;
}

}  // namespace inboxd::base
