#include "envelope/json.hpp"

#include <array>
#include <thread>

#include "records.hpp"

using namespace inboxd;
using namespace inboxd::envelope;
using namespace inboxd::envelope::test;

namespace {

std::string nested(std::size_t depth, std::string_view open, std::string_view close, std::string_view inside) {
  std::string out;
  for (std::size_t i = 0; i < depth; ++i) out.append(open);
  out.append(inside);
  for (std::size_t i = 0; i < depth; ++i) out.append(close);
  return out;
}

/// A CloudEvent around hostile data.
std::string around(std::string_view data) {
  return std::string{R"({"specversion":"1.0","data":)"}.append(data) +
         R"(,"id":"A234-1234-1234","source":"/mycontext","type":"t"})";
}

JsonValue find_one(std::string_view json, std::string_view pointer, base::Arena& arena) {
  std::array<JsonValue, 1> found;
  const std::array<std::string_view, 1> pointers{pointer};
  static_cast<void>(find_in_json(json, pointers, found, arena, config::Unwrap::automatic));
  return found[0];
}

}  // namespace

// fault: hostile JSON (NUL escape, lone surrogate, 100,000 deep, 1e131072)
TEST_CASE("hostile data inside a CloudEvent is kept and does not hide its id") {
  for (const std::string& data :
       {std::string{R"("a\u0000b")"}, std::string{R"("\ud800")"}, std::string{R"("\udc00\ud800")"},
        std::string{"1e131072"}, std::string{"-1e-131072"}, std::string(5000, '9'), nested(100'000, "[", "]", "1"),
        nested(100'000, "{\"a\":", "}", "1"), nested(1000, "[{\"id\":\"no\",\"x\":", "}]", "null"),
        std::string{R"({"id":"1","id":"2"})"}, std::string{R"({"\ud800":1})"}, std::string{"\"\xC2\x9B\""}}) {
    const std::string payload = around(data);
    const Outcome outcome{with_headers({{"content-type", "application/cloudevents+json"}}, payload)};
    CHECK(outcome.id() == "a1e87598-535c-5cf9-9f2f-e03f686a5f7a");
    CHECK(outcome.event().payload == std::string_view{payload});
    CHECK(Outcome{record(payload)}.id() == "a1e87598-535c-5cf9-9f2f-e03f686a5f7a");
  }
}

TEST_CASE("bytes that are not JSON are refused without a crash, at every depth") {
  for (const std::string& json :
       {std::string{}, std::string{" "}, std::string{"{"}, std::string{"}"}, std::string{"{]"}, std::string{"{\"id\""},
        std::string{"{\"id\":"}, std::string{"{\"id\":\"x\""}, std::string{"{\"id\":\"x\",}"},
        std::string{"{\"id\" \"x\"}"},
        std::string{"{id:\"x\"}"}, std::string{"{\"id\":\"x\"}}"}, std::string{"{\"id\":\"x\"} {}"},
        std::string{"{\"id\":\"\xFF\"}"}, std::string{"{\"id\":\"x\n\"}"}, std::string(3, '\0'),
        std::string{"\0\0\0\0\0", 5}, std::string{"\0\0\0\0\0{", 6}, nested(100'000, "[", "", ""),
        nested(100'000, "{\"id\":", "", ""), nested(100'000, "", "]", ""), nested(100'000, "[", "}", "1"),
        std::string{"\xEF\xBB\xBF"}, std::string{"{\"id\":\"x\""} + std::string(100'000, ' ')}) {
    const Outcome outcome{with_headers({{"content-type", "application/cloudevents+json"}}, json)};
    INFO(json.substr(0, 50));
    CHECK(outcome.reason() == "undecodable");
  }
}

TEST_CASE("an id deep down in a hostile value is found by a custom rule") {
  std::string pointer = "json:";
  for (int i = 0; i < 50; ++i) pointer += "/a";
  config::CustomRules custom;
  custom.id = pointer;
  const std::string payload = nested(50, "{\"z\":1e9999,\"a\":", "}", "\"deep\"");
  CHECK(Outcome{record(payload), custom_rules(custom)}.event().source_id == "deep"sv);
  CHECK(Outcome{record(nested(100'000, "{\"a\":", "}", "1")), custom_rules(custom)}.reason() == "bad_id");
}

TEST_CASE("a text stays valid after the next text is read") {
  base::Arena arena;
  const JsonValue first = find_one(R"({"a":"first\n"})", "/a", arena);
  const JsonValue second = find_one(R"({"a":"second"})", "/a", arena);
  CHECK(first.text == "first\n");
  CHECK(second.text == "second");
}

TEST_CASE("no value of a text is found in the next") {
  base::Arena arena;
  CHECK(find_one(R"({"a":"x","b":"y"})", "/b", arena).kind == JsonValue::Kind::string);
  CHECK(find_one(R"({"a":"x")", "/b", arena).kind == JsonValue::Kind::none);
  CHECK(find_one(R"({"a":"x"})", "/b", arena).kind == JsonValue::Kind::none);
  CHECK(find_one("", "/b", arena).kind == JsonValue::Kind::none);
}

TEST_CASE("a broken text yields no values") {
  base::Arena arena;
  CHECK(find_one(R"({"a":"x","b":)", "/a", arena).kind == JsonValue::Kind::none);
  CHECK(find_one(R"({"a":"x"} trailing)", "/a", arena).kind == JsonValue::Kind::none);
}

TEST_CASE("texts of many megabytes are read, and small texts after them") {
  base::Arena arena;
  const std::string large = "{\"x\":\"" + std::string(5'000'000, 'x') + "\",\"a\":\"y\"}";
  CHECK(find_one(large, "/a", arena).text == "y");
  CHECK(find_one(large, "/x", arena).text.size() == 5'000'000);
  CHECK(find_one(R"({"a":"z"})", "/a", arena).text == "z");
}

TEST_CASE("the first text that a thread reads may be empty or broken") {
  for (const std::string_view first : {"", " ", "{", "\0", "\xFF"}) {
    bool right = false;
    std::thread{[&right, first] {
      base::Arena arena;
      right = find_one(first, "/a", arena).kind == JsonValue::Kind::none &&
              find_one(R"({"a":"x"})", "/a", arena).text == "x";
    }}.join();
    CHECK(right);
  }
}

TEST_CASE("every thread reads its own texts") {
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t thread = 0; thread < right.size(); ++thread) {
    threads.emplace_back([&right, thread] {
      base::Arena arena;
      for (int i = 0; i < 2000; ++i) {
        const std::string text = std::to_string(thread) + "-" + std::to_string(i);
        right[thread] += find_one("{\"a\":\"" + text + "\"}", "/a", arena).text == text ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 2000));
}

TEST_CASE("a producer's text is unwrapped only if all of it is JSON") {
  base::Arena arena;
  const auto text = [&](event::MaybeBytes bytes) { return producer_text(bytes, arena); };
  CHECK(text("abc") == "abc"sv);
  CHECK(text(R"("abc")") == "abc"sv);
  CHECK(text(R"("a\"b")") == "a\"b"sv);
  CHECK(text(R"("a\u00e9")") == "aé"sv);
  CHECK(text(R"("a" "b")") == R"("a" "b")"sv);
  CHECK(text(R"("")") == ""sv);
  CHECK(text(R"(")") == R"(")"sv);
  CHECK(text("") == ""sv);
  CHECK(text("null") == "null"sv);
  CHECK(text(R"({"schema":{"type":"int64"},"payload":7})") == "7"sv);
  CHECK(text(R"({"schema":null,"payload":"x"})") == "x"sv);
  CHECK(text(R"({"payload":"x"})") == R"({"payload":"x"})"sv);
  CHECK(text(R"({"schema":1,"payload":true})") == R"({"schema":1,"payload":true})"sv);
  CHECK_FALSE(text(R"({"schema":1,"payload":null})"));
  CHECK_FALSE(text(std::nullopt));
}
