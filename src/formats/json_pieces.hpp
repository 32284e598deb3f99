#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace inboxd::formats {

// Values as pieces of JSON. Each is appended to `out`.

/// The fewest digits that give the same number; "NaN", "Infinity" and "-Infinity" as strings.
void append_real(std::string& out, float number);
void append_real(std::string& out, double number);

/// A JSON string in base64.
void append_base64(std::string& out, std::string_view bytes);

/// A JSON string with a character U+0000 to U+00FF for each byte.
void append_latin(std::string& out, std::string_view bytes);

}  // namespace inboxd::formats
