#include "event/json_text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace inboxd::event;

namespace {

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string out;
  for (std::size_t i = 0; i < depth; ++i) out += open;
  out += "1";
  for (std::size_t i = 0; i < depth; ++i) out += close;
  return out;
}

bool is_json(const std::string& text) { return json_in(text).is_json(); }

}  // namespace

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
TEST_CASE("JSON is what RFC 8259 says, with numbers of any size, repeated keys and any depth") {
  for (const std::string& text :
       {std::string{"{}"}, std::string{"[]"}, std::string{" \t\r\n{ } \n"}, std::string{"null"}, std::string{"true"},
        std::string{"-0"}, std::string{"0.10e+05"}, std::string(30, '9') + "." + std::string(30, '9'),
        std::string{"1e131072"}, std::string{R"("\ud800 \u0000 \" \\ \/ \b\f\n\r\t")"}, std::string{"\"\xC3\xA4\""},
        std::string{R"({"k":1,"k":2})"}, std::string{R"([1,[2,{"a":[]}],{}])"}, nested(100'000, "[", "]"),
        nested(100'000, "{\"a\":", "}"), nested(9'000, "[{\"a\":", "}]")}) {
    CAPTURE(text.substr(0, 60));
    CHECK(is_json(text));
    CHECK(json_in(text).text == text);
  }
}

// fault: NUL behind JSON
TEST_CASE("bytes that only resemble JSON are none") {
  using namespace std::string_literals;
  for (const std::string& text :
       {"{"s, "}"s, "{]"s, "[}"s, "[1,]"s, "[,1]"s, "{,}"s, R"({"a":1,})"s, R"({"a" 1})"s, R"({a:1})"s, R"({1:1})"s,
        "01"s,
        "1."s, ".5"s, "+1"s, "1e"s, "-"s, "NaN"s, "tru"s, "nullx"s, "'a'"s, "\"a"s, "\"\\x\""s, "\"\\u12g4\""s,
        "\"\\"s, "\"a\nb\""s, "1 2"s, "{} {}"s, "// c\n1"s, R"({"n":2})"s + '\0',
        R"({"n": 2})"s + '\0' + R"(, "event_id": "forged"})", "\"a\0b\""s, nested(5'000, "[", "}"),
        std::string(100'000, '['), "\xEF\xBB\xBF\xEF\xBB\xBF{}"s}) {
    CAPTURE(text.substr(0, 60));
    CHECK(json_in(text).problem == JsonProblem::grammar);
  }
  CHECK(json_in("").problem == JsonProblem::empty);
  CHECK(json_in("\"\xFF\"").problem == JsonProblem::not_utf8);
  CHECK(json_in("\"\xED\xA0\x80\"").problem == JsonProblem::not_utf8);
}

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
TEST_CASE("a byte order mark and the prefix of a schema registry are skipped; Avro after it is named") {
  using namespace std::string_literals;
  CHECK(json_in("\xEF\xBB\xBF{\"n\":1}").text == "{\"n\":1}");
  const std::string prefix = "\0\0\0\0\x0C"s;
  CHECK(json_in(prefix + "{\"n\":1}").text == "{\"n\":1}");
  CHECK(json_in(prefix + "\xEF\xBB\xBF{\"n\":1}").is_json());
  CHECK(json_in(prefix + "\x02\x68\x69").problem == JsonProblem::schema_id);
  CHECK(sentence_of(JsonProblem::schema_id).find("schema registry") != std::string_view::npos);
  CHECK(json_in(std::string(5, '\0')).problem == JsonProblem::grammar);
}
