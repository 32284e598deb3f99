#include "envelope/body.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using config::Unwrap;

namespace {

std::string body(const std::string& payload, Unwrap unwrap = Unwrap::automatic) {
  std::string storage;
  const auto found = envelope::body_in(payload, unwrap, storage);
  return found.is_json() ? std::string{found.text} : "no JSON";
}

const std::string order = R"({"orderId": "A-1", "amount": 12.50})";
const std::string as_string = R"("{\"orderId\": \"A-1\", \"amount\": 12.50}")";

}  // namespace

TEST_CASE("JSON in a JSON string, and the payload next to a converter's schema, are the body") {
  CHECK(body(order) == order);
  CHECK(body(as_string) == order);
  CHECK(body(R"({"schema":{"type":"struct"},"payload":)" + order + "}") == order);
  CHECK(body(R"({"schema":{"type":"string","optional":false}, "payload": )" + as_string + " }") == order);
  CHECK(body(R"({"schema":null,"payload":)" + as_string + "}") == order);
  CHECK(body(R"({"payload":null,"schema":{"type":"string"}})") == "null");
  CHECK(body(R"("[1, \"\u00e4\\\\\ud83d\ude00\/\"]")") == "[1, \"\xc3\xa4\\\\\xf0\x9f\x98\x80/\"]");
  CHECK(body("not JSON") == "no JSON");
}

TEST_CASE("what only resembles a converter's wrapping is the body as it is") {
  for (const std::string& json :
       {std::string{R"("text")"}, std::string{R"("{no JSON}")"}, std::string{R"("17")"},
        std::string{R"("{\"a\":\"\ud800\"}")"}, R"({"schema":{"type":"struct"},"payload":)" + order + R"(,"more":1})",
        R"({"schema":"s1","payload":)" + order + "}",
        R"({"schema":{"name":"x"},"payload":)" + order + "}", std::string{R"({"schema":{"type":"struct"}})"}}) {
    CHECK(body(json) == json);
  }
}

TEST_CASE("a topic may say how its values are wrapped") {
  CHECK(body(as_string, Unwrap::none) == as_string);
  CHECK(body(R"({"schema":{"type":"s"},"payload":1})", Unwrap::none) == R"({"schema":{"type":"s"},"payload":1})");
  CHECK(body(R"("17")", Unwrap::json_string) == "17");
  CHECK(body(R"("text")", Unwrap::json_string) == R"("text")");
  CHECK(body(R"({"schema":"s1","payload":1,"more":2})", Unwrap::schema_payload) == "1");
  const std::string wrapped = R"({"schema":{"type":"s"},"payload":1})";
  CHECK(body(wrapped, Unwrap::json_string) == wrapped);
}
