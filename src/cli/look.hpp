#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace inboxd::cli {

/// What a text is written for. The default suits a file or a pipe.
struct Look {
  bool colour = false;
  std::size_t width = 0;                       ///< columns of the terminal; 0: as wide as it wants
};

enum class Tone { plain, strong, good, warning, bad, faint };

/// The text in the tone's colour, where colours are wanted.
std::string in_tone(std::string_view text, Tone tone, const Look& look);

/// How many columns a terminal needs for the text (UTF-8 without control characters).
std::size_t columns_of(std::string_view text);

/// At most so many columns, cut at a character's end, with `…` where something was cut.
std::string clipped(std::string_view text, std::size_t columns);

/// One line of a terminal whatever the text holds: control characters and bytes that are not UTF-8 are escaped.
std::string one_line(std::string_view text);

}  // namespace inboxd::cli
