#include "encoding.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <system_error>

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
  if (base64(out) != text) return std::nullopt;  // OpenSSL passes over blanks, padding inside, and bits after the end
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
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument) return std::nullopt;
  const std::string_view unit{end, text.data() + text.size()};
  const std::uint64_t factor = unit == "ms"  ? 1
                               : unit == "s" ? 1'000
                               : unit == "m" ? 60'000
                               : unit == "h" ? 3'600'000
                               : unit == "d" ? 86'400'000
                                             : 0;
  if (factor == 0) return std::nullopt;
  constexpr std::uint64_t longest = INBOXD_MAX_DELAY_MS;
  const bool is_absurd = error == std::errc::result_out_of_range || number > longest / factor;
  return inboxd::Milliseconds{static_cast<std::int64_t>(is_absurd ? longest : number * factor)};
}

std::string canonical_id(std::string_view text) {
  constexpr std::string_view urn = "urn:uuid:";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::string_view id = text;
  const auto is_same = [&](char a, char b) { return a == lower(b); };
  const bool is_urn = id.size() > urn.size() && std::equal(urn.begin(), urn.end(), id.begin(), is_same);
  if (is_urn) id.remove_prefix(urn.size());
  if (id.size() > 2 && id.front() == '{' && id.back() == '}') id = id.substr(1, id.size() - 2);
  if (id.size() != 36 && id.size() != 32) return std::string{text};
  std::string out;
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (id.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) {
      if (id[i] != '-') return std::string{text};
      continue;
    }
    const char c = lower(id[i]);
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::string{text};
    if (out.size() == 8 || out.size() == 13 || out.size() == 18 || out.size() == 23) out += '-';
    out += c;
  }
  return out;
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
