#include "cli/look.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.hpp"

namespace inboxd::cli {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// Wide characters of East Asian scripts, and pictures.
constexpr std::array<Range, 9> wide{{{0x1100, 0x115F},
                                     {0x2E80, 0xA4CF},
                                     {0xAC00, 0xD7A3},
                                     {0xF900, 0xFAFF},
                                     {0xFE30, 0xFE6F},
                                     {0xFF00, 0xFF60},
                                     {0xFFE0, 0xFFE6},
                                     {0x1F300, 0x1FAFF},
                                     {0x20000, 0x3FFFD}}};

std::size_t columns_of_character(std::uint32_t character) {
  if (character >= 0x300 && character <= 0x36F) return 0;
  for (const Range& range : wide) {
    if (character >= range.first && character <= range.last) return 2;
  }
  return 1;
}

/// Takes one character off the front; the text is well-formed.
std::uint32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t character = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length && i < text.size(); ++i) {
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(std::min(length, text.size()));
  return character;
}

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::strong: return "1";
    case Tone::good: return "32";
    case Tone::warning: return "33";
    case Tone::bad: return "1;31";
    case Tone::faint: return "2";
  }
  return "";
}

}  // namespace

std::string in_tone(std::string_view text, Tone tone, const Look& look) {
  if (!look.colour || tone == Tone::plain || text.empty()) return std::string{text};
  std::string out = "\x1b[";
  return out.append(code_of(tone)).append("m").append(text).append("\x1b[0m");
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += columns_of_character(take_character(text));
  return columns;
}

std::string clipped(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string{text};
  std::size_t used = 1;  // the dots
  std::string_view rest = text;
  std::size_t end = 0;
  while (!rest.empty()) {
    used += columns_of_character(take_character(rest));
    if (used > columns) break;
    end = text.size() - rest.size();
  }
  return std::string{text.substr(0, end)} + "…";
}

std::string one_line(std::string_view text) { return base::escape_controls(text); }

}  // namespace inboxd::cli
