// The shipped handler `http`: JSON leaves as the bytes that came.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/http/http_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* an_id = "0b000000-0000-4000-8000-000000000001";
const std::string large =
    R"({"amount":12345678901234567890.123456789, "n":9007199254740993,"d":100.10,"u":18446744073709551616,)"
    R"("k":1,"k":2})";

std::string body_of_first(HttpFixture& fixture) {
  wait_until("it is posted", [&] { return fixture.requests().size() == 1; });
  return fixture.requests()[0]["body"].get<std::string>();
}

}  // namespace

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
TEST_CASE("the data of a CloudEvent leaves byte for byte, in every style") {
  const std::string style = GENERATE("cloudevents-binary", "cloudevents-structured", "dapr");
  HttpFixture fixture{};
  fixture.set("style", style);
  const auto daemon = fixture.start();
  Message message{.topic = fixture.topic,
                  .key = "k",
                  .payload = R"({"specversion":"1.0","id":"e","source":"/s","type":"T","data": )" + large + " }"};
  fixture.kafka.produce({message});
  const std::string body = body_of_first(fixture);
  if (style == "cloudevents-binary") CHECK(body == large);
  if (style != "cloudevents-binary") CHECK_THAT(body, ContainsSubstring("\"data\":" + large + "}"));
}

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
// fault: NUL behind JSON
TEST_CASE("JSON after a byte order mark or a registry's prefix is posted as JSON; followed by NUL it is bytes") {
  const bool is_batch = GENERATE(true, false);
  CAPTURE(is_batch);
  HttpFixture fixture{is_batch ? std::vector<std::string>{"events_per_call: 10"} : std::vector<std::string>{}};
  if (!is_batch) fixture.set("style", "cloudevents-structured");
  const auto daemon = fixture.start();
  const std::string prefix = GENERATE("\xEF\xBB\xBF"s, "\0\0\0\0\x0C"s);
  fixture.kafka.produce({event_message(fixture.topic, an_id, prefix + R"({"orderId": "A-1"})")});
  CHECK(fixture.states(1) == "done");
  CHECK_THAT(body_of_first(fixture), ContainsSubstring(R"("data":{"orderId": "A-1"}})"));
  fixture.kafka.produce({event_message(fixture.topic, "0b000000-0000-4000-8000-000000000002",
                                       R"({"n": 2})"s + '\0' + R"(, "event_id": "forged"})")});
  CHECK(fixture.states(2) == "done done");
  const auto body = fixture.requests().at(1)["body"].get<std::string>();
  CHECK(nlohmann::json::accept(body));
  CHECK_THAT(body, ContainsSubstring("data_base64"));
}
