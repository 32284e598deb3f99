#include "base/text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <random>
#include <string>
#include <vector>

using namespace inboxd::base;
using namespace std::string_view_literals;

namespace {

/// Bytes that are not UTF-8, for different reasons.
const std::vector<std::string_view> malformed{
    "\x80"sv,              // a continuation alone
    "\xC3"sv,              // cut off
    "\xE2\x82"sv,          // cut off
    "\xF0\x9F\x98"sv,      // cut off
    "\xC0\xAF"sv,          // overlong
    "\xC1\xBF"sv,          // overlong
    "\xE0\x80\xAF"sv,      // overlong
    "\xF0\x80\x80\xAF"sv,  // overlong
    "\xED\xA0\x80"sv,      // a surrogate
    "\xED\xBF\xBF"sv,      // a surrogate
    "\xF4\x90\x80\x80"sv,  // beyond U+10FFFF
    "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv,
    "\xC3\x28"sv,          // a lead byte without its continuation
};

}  // namespace

TEST_CASE("well-formed UTF-8 is accepted at every length and place") {
  for (const std::string_view character : {"a"sv, "\0"sv, "\x7F"sv, "é"sv, "€"sv, "😀"sv, "\xED\x9F\xBF"sv,
                                           "\xEE\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv, "\xC2\x80"sv}) {
    for (std::size_t before = 0; before < 20; ++before) {
      CHECK(is_utf8(std::string(before, 'x').append(character).append("tail of the text")));
      CHECK(is_utf8(std::string(before, 'x').append(character)));
    }
  }
  CHECK(is_utf8(""));
}

TEST_CASE("malformed UTF-8 is refused at every length and place") {
  for (const std::string_view bad : malformed) {
    for (std::size_t before = 0; before < 20; ++before) {
      CHECK_FALSE(is_utf8(std::string(before, 'x').append(bad)));
      CHECK_FALSE(is_utf8(std::string(before, 'x').append(bad).append("tail of the text")));
    }
  }
}

TEST_CASE("JSON means the same without the characters that terminals obey") {
  CHECK(escape_json_controls("{\"a\": \"Gr\u00FC\u00DFe \u20AC\"}") == "{\"a\": \"Gr\u00FC\u00DFe \u20AC\"}");
  CHECK(escape_json_controls("\"a\x7F\xC2\x9B" "b\u202E\"") == "\"a\\u007f\\u009bb\\u202e\"");
}

TEST_CASE("the database accepts UTF-8 without NUL") {
  CHECK(is_database_text(""));
  CHECK(is_database_text("Grüße"));
  CHECK(is_database_text("line\nline\x01"));
  CHECK_FALSE(is_database_text("a\0b"sv));
  CHECK_FALSE(is_database_text("\0"sv));
  for (const std::string_view bad : malformed) CHECK_FALSE(is_database_text(bad));
}

TEST_CASE("all terminal control sequences are escaped") {
  CHECK(escape_controls("plain text, Grüße €😀") == "plain text, Grüße €😀");
  CHECK(escape_controls("a\nb\r\tc\x1b[31m\x7F") == "a\\nb\\x0d\\x09c\\x1b[31m\\x7f");
  CHECK(escape_controls("a\0b"sv) == "a\\x00b");
  CHECK(escape_controls("\xC2\x9B" "31m") == "\\xc2\\x9b31m");
  CHECK(escape_controls("\xC2\xA0") == "\xC2\xA0");
  CHECK(escape_controls("a\u202Eb\u2066c\u200Fd\u061Ce") ==
        "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\x8fd\\xd8\\x9ce");
  CHECK(escape_controls("\u2030\u2060") == "\u2030\u2060");
  CHECK(escape_controls("\xFF\xFE") == "\\xff\\xfe");
  CHECK(escape_controls("\xE2\x82") == "\\xe2\\x82");
}

TEST_CASE("an ambiguous value is quoted") {
  CHECK(quote_if_needed("orders") == "orders");
  CHECK(quote_if_needed("") == "\"\"");
  CHECK(quote_if_needed("two words") == "\"two words\"");
  CHECK(quote_if_needed("a=b") == "\"a=b\"");
  CHECK(quote_if_needed("say \"no\"") == "\"say \\\"no\\\"\"");
  CHECK(quote_if_needed("a\nb") == "\"a\\nb\"");
}

TEST_CASE("a value cannot close its quotes and forge a fact") {
  // A single backslash would escape the backslash that should escape the quote.
  CHECK(quote_if_needed("\\\" level=error") == "\"\\\\\\\" level=error\"");
  CHECK(quote_if_needed("C:\\temp") == "\"C:\\\\temp\"");
  CHECK(quote_if_needed("\\") == "\"\\\\\"");
  std::mt19937 random{20240501};
  const std::string_view alphabet = "a\\\" =\n";
  for (int i = 0; i < 2000; ++i) {
    std::string value;
    for (std::size_t length = random() % 12; length > 0; --length) value += alphabet[random() % alphabet.size()];
    const std::string quoted = quote_if_needed(value);
    if (quoted == value) continue;
    INFO(quoted);
    std::size_t at = 1;
    while (at < quoted.size() && quoted[at] != '"') at += quoted[at] == '\\' ? 2 : 1;
    CHECK(at == quoted.size() - 1);
  }
}

TEST_CASE("any bytes become a valid JSON string") {
  CHECK(json_quote("say \"no\" \\ Grüße") == R"("say \"no\" \\ Grüße")");
  CHECK(json_quote("a\n\x01\x7F") == R"("a\u000a\u0001\u007f")");
  CHECK(json_quote("a\0b"sv) == R"("a\u0000b")");
  CHECK(json_quote("\xFF" "a") == "\"\xEF\xBF\xBD" "a\"");
  CHECK(json_quote("\xC2\x9B" "a\u202E\u20AC") == "\"\\u009ba\\u202e\u20AC\"");
  CHECK(json_quote("") == "\"\"");
}

TEST_CASE("a long text is cut between characters") {
  CHECK(shorten("short", 10) == "short");
  CHECK(shorten("short", 5) == "short");
  CHECK(shorten("longer", 5) == "longe…");
  CHECK(shorten("Grüße", 3) == "Gr…");
  CHECK(shorten("Grüße", 4) == "Grü…");
  CHECK(shorten("€", 2) == "…");
  CHECK(shorten("abc", 0) == "…");
}

TEST_CASE("bytes are written as hexadecimal digits") {
  CHECK(hex("\x00\x7F\xFF"sv) == "007fff");
  CHECK(hex("") == "");
}

TEST_CASE("only ASCII letters change to lower case") {
  CHECK(lower("@AZ[`az{ Content-TYPE ÄÉ") == "@az[`az{ content-type ÄÉ");
  CHECK(lower("") == "");
}
