#include "formats/json_pieces.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/base64.hpp"

namespace inboxd::formats {
namespace {

template <class Real>
void append(std::string& out, Real number) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    char digits[64];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
}

}  // namespace

void append_real(std::string& out, float number) { append(out, number); }
void append_real(std::string& out, double number) { append(out, number); }

void append_base64(std::string& out, std::string_view bytes) { ((out += '"') += base::base64(bytes)) += '"'; }

void append_latin(std::string& out, std::string_view bytes) {
  out += '"';
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    char text[8];
    if (byte < 0x20 || byte == 0x7F) {
      std::snprintf(text, sizeof text, "\\u%04x", byte);
      out += text;
    } else if (byte < 0x80) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    } else {
      out += static_cast<char>(0xC0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  out += '"';
}

}  // namespace inboxd::formats
