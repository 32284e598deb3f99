#include "encoding.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace handlers {

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string time_text(std::chrono::microseconds since_1970) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_1970);
  const std::time_t time = seconds.count();
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%06dZ", static_cast<int>((since_1970 - seconds).count()));
  return text;
}

std::optional<inboxd::Milliseconds> duration_of(const std::string& text) {
  long long number = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%9lld%n", &number, &used) != 1 || number < 0) return std::nullopt;
  const std::string unit = text.substr(static_cast<std::size_t>(used));
  const long long factor = unit == "ms" ? 1 : unit == "s" ? 1'000 : unit == "m" ? 60'000 : unit == "h" ? 3'600'000 : 0;
  if (factor == 0) return std::nullopt;
  return inboxd::Milliseconds{std::min<std::int64_t>(number * factor, INBOXD_MAX_DELAY_MS)};
}

std::string percent_encoded(std::string_view bytes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain) {
      out += c;
    } else {
      out.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return out;
}

bool is_deep(std::string_view json) {
  constexpr int most = 256;
  int depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {  // to the end of the string
      for (++i; i < json.size() && json[i] != '"'; ++i) i += json[i] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace handlers
