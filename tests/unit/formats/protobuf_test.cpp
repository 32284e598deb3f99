// Protobuf's binary encoding as JSON.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <google/protobuf/descriptor.h>

#include "fixture_file.hpp"
#include "formats/protobuf_reader.hpp"
#include "formats/protobuf_schema.hpp"

using namespace inboxd;
using namespace inboxd::formats;
using namespace inboxd::formats::test;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;
using config::JsonForm;
using nlohmann::json;

namespace {

constexpr std::size_t much = 1 << 20;

/// Messages of Confluent's serializer (fixtures/make_protobuf.py).
json fixtures() { return fixture_file("protobuf.json"); }

/// A type of shop.proto.
ProtobufSchema schema_of(const std::string& message) {
  auto schema = ProtobufSchema::of_set(bytes_of(fixtures()["set"]), message);
  INFO(message);
  REQUIRE(schema.ok());
  return std::move(schema).value();
}

struct Read {
  std::string problem, json;
};

Read read(const ProtobufSchema& schema, const std::string& bytes, JsonForm form = JsonForm::plain,
          std::size_t max_bytes = much) {
  Read out;
  out.problem = read_protobuf(schema, *schema.message(), bytes, form, max_bytes, out.json);
  return out;
}

Read read(const std::string& message, const std::string& bytes) { return read(schema_of(message), bytes); }

}  // namespace

TEST_CASE("a message that was cut within a field, or has foreign bytes, does not fit its schema") {
  for (const char* const bytes : {"\x0a", "\x0a\x05x", "\x10", "\x10\x80", "\xff\xff", "\x0b", "\x0c", "\x3d\x01"}) {
    INFO(json(bytes).dump(-1, ' ', true, json::error_handler_t::replace));
    CHECK_THAT(read("shop.Order", bytes).problem, ContainsSubstring("Protobuf"));
  }
  CHECK(read("shop.Order", "\x22\x02\x0a\x05").problem ==
        "at /items: the bytes end within a field, or are none of Protobuf");
}

TEST_CASE("text that is not UTF-8 does not fit, and the reason holds no byte of it") {
  CHECK(read("shop.Order", "\x0a\x02x\xff").problem == "at /id: a string is not UTF-8");
}

TEST_CASE("unknown fields, and fields of another type, are passed over") {
  const auto plain = read("shop.Money", "").json;
  CHECK(read("shop.Money", "\xfa\x01\x03" "abc" "\x98\x06\x05").json == plain);
  CHECK(read("shop.Money", "\x0a\x01x").json == plain);
}

TEST_CASE("the last of several values counts, messages in parts are one, and a oneof has one member") {
  CHECK(read("shop.Money", "\x08\x05\x08\x06").json == R"({"units":6,"currency":""})");
  CHECK_THAT(read("shop.Order", "\x3a\x02\x08\x05\x3a\x05\x12\x03" "EUR").json,
             ContainsSubstring(R"("total":{"units":5,"currency":"EUR"})"));
  const auto changed = read("shop.Order", "\x4a\x01t\x52\x02\x08\x05").json;
  CHECK_THAT(changed, ContainsSubstring(R"("cash":{"units":5,)"));
  CHECK_THAT(changed, !ContainsSubstring("card_token"));
  // From cash to a token and back: the first cash is gone.
  CHECK_THAT(read("shop.Order", "\x52\x02\x08\x05\x4a\x01t\x52\x05\x12\x03" "EUR").json,
             ContainsSubstring(R"("cash":{"units":0,"currency":"EUR"})"));
}

TEST_CASE("lists are read packed and one by one, and a map's last value of a key counts") {
  CHECK_THAT(read("shop.Order", "\x5a\x02\x01\x04\x58\x03").json, ContainsSubstring(R"("deltas":[-1,2,-2])"));
  CHECK_THAT(read("shop.Order", "\x5a\x01\x80").problem, ContainsSubstring("at /deltas: the bytes end"));
  CHECK_THAT(read("shop.Order", "\x2a\x05\x0a\x01" "b\x10\x01\x2a\x03\x0a\x01" "a\x2a\x05\x0a\x01" "b\x10\x02").json,
             ContainsSubstring(R"("counts":{"a":0,"b":2})"));
}

TEST_CASE("an unknown number of an enum is a number, and an unknown type of Any stays bytes") {
  CHECK_THAT(read("shop.Order", "\x18\x63").json, ContainsSubstring(R"("kind":99)"));
  CHECK_THAT(read("shop.Known", "\x2a\x09\x0a\x05x/a.B\x12\x00"s).json,
             ContainsSubstring(R"("any":{"@type":"x/a.B","value":""})"));
}

TEST_CASE("times and durations out of their ranges do not fit") {
  CHECK_THAT(read("shop.Known", "\x42\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00"s).problem,
             ContainsSubstring("/at: "));
  CHECK(read("shop.Known", "\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f").problem ==
        "at /at: a timestamp is out of range");
  CHECK(read("shop.Known", "\x0a\x0d\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").problem ==
        "at /wait: a duration is out of range");
}

TEST_CASE("hostile messages end within the limits") {
  const auto order = schema_of("shop.Order");
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "\x22\x00"s;  // each is 20 bytes of JSON
  CHECK_THAT(read(order, many, JsonForm::plain, 10'000).problem, ContainsSubstring("more than 10000 bytes"));
  std::string deep;
  for (int i = 0; i < 151; ++i) {  // Value → ListValue → Value
    const std::string length = deep.size() < 128 ? std::string(1, static_cast<char>(deep.size()))
                                                 : std::string{static_cast<char>(deep.size() % 128 | 128),
                                                               static_cast<char>(deep.size() / 128)};
    deep = (i % 2 == 0 ? "\x32" : "\x0a") + length + deep;
  }
  const std::string size{static_cast<char>(deep.size() % 128 | 128), static_cast<char>(deep.size() / 128)};
  CHECK_THAT(read("shop.Known", "\x1a" + size + deep).problem, ContainsSubstring("nested more than 100 deep"));
  std::string groups(300, '\x0b');
  CHECK_FALSE(read("shop.Order", groups).problem.empty());
}

TEST_CASE("descriptors that cannot be used say why") {
  const auto set = bytes_of(fixtures()["set"]);
  const auto problem = [](const auto& schema) { return schema ? std::string{} : schema.problem().message; };
  CHECK_THAT(problem(ProtobufSchema::of_set("syntax = \"proto3\";", "a.B")), ContainsSubstring("--descriptor_set_out"));
  CHECK_THAT(problem(ProtobufSchema::of_set("", "a.B")), ContainsSubstring("--descriptor_set_out"));
  CHECK(problem(ProtobufSchema::of_set(set, "shop.Nothing")) == "has no message shop.Nothing");
  const std::string importing = "\x0a\x07" "a.proto\x1a\x07" "b.proto\x22\x03\x0a\x01" "A";
  const std::array files{ProtobufFile{"a.proto", importing}};
  CHECK(problem(ProtobufSchema::of_files(files)) == "imports b.proto, which is missing");
  const std::array of_confluent{ProtobufFile{
      "a.proto", "\x0a\x07" "a.proto\x1a\x14" "confluent/meta.proto\x1a\x1c"
                 "confluent/type/decimal.proto\x22\x03\x0a\x01" "A"}};
  CHECK(problem(ProtobufSchema::of_files(of_confluent)).empty());
}

TEST_CASE("a schema's own type with the name of a known one has its own fields") {
  // package google.protobuf, message Int64Value without a field.
  const std::string own = "\x0a\x07" "a.proto\x12\x0fgoogle.protobuf\x22\x0c\x0a\x0aInt64Value";
  const auto schema = ProtobufSchema::of_files(std::array{ProtobufFile{"a.proto", own}});
  REQUIRE(schema.ok());
  std::string out;
  CHECK(read_protobuf(schema.value(), *schema.value().find(std::array{0}), "", JsonForm::plain, much, out).empty());
  CHECK(out == "{}");
  const auto changed = ProtobufSchema::of_files(std::array{ProtobufFile{"google/protobuf/timestamp.proto", own}});
  REQUIRE(changed.ok());  // Google's own file
  CHECK(changed.value().find(std::array{0})->full_name() == "google.protobuf.Timestamp");
  CHECK_FALSE(ProtobufSchema::of_files(std::array{ProtobufFile{"google/protobuf/new.proto", own}}).ok());
}

TEST_CASE("messages of types with many fields, and messages in many parts, end within the limits") {
  // message A { repeated A a = 1; } with 3,000 further fields of type A.
  std::string fields;
  for (int i = 1; i <= 3'000; ++i) {
    const std::string name = "f" + std::to_string(i);
    std::string number(1, static_cast<char>(i % 128 | (i > 127 ? 128 : 0)));
    if (i > 127) number += static_cast<char>(i / 128);
    const std::string field = "\x0a" + std::string(1, static_cast<char>(name.size())) + name + "\x18" + number +
                              "\x20" + (i == 1 ? "\x03" : "\x01") + "\x28\x0b\x32\x02.A";
    fields += "\x12" + std::string(1, static_cast<char>(field.size())) + field;
  }
  const std::string message = "\x0a\x01" "A" + fields;
  std::string size;
  for (std::size_t rest = message.size(); rest > 0; rest >>= 7) {
    size += static_cast<char>(rest % 128 | (rest > 127 ? 128 : 0));
  }
  const auto schema =
      ProtobufSchema::of_files(std::array{ProtobufFile{"a.proto", "\x0a\x07" "a.proto\x22" + size + message}});
  INFO((schema ? "" : schema.problem().message));
  REQUIRE(schema.ok());
  const auto& type = *schema.value().find(std::array{0});
  std::string many, out;
  for (int i = 0; i < 100'000; ++i) many += "\x0a\x00"s;
  CHECK_THAT(read_protobuf(schema.value(), type, many, JsonForm::standard, much, out),
             ContainsSubstring("too many messages"));
  std::string nested;  // field 2 in two parts, within each other
  for (int depth = 0; depth < 90; ++depth) {
    std::string length;
    for (std::size_t rest = nested.size(); rest > 0; rest >>= 7) {
      length += static_cast<char>(rest % 128 | (rest > 127 ? 128 : 0));
    }
    if (length.empty()) length = "\x00"s;
    nested = "\x12\x00\x12"s + length + nested;
    if (depth == 0) nested = "\x12\xc0\x84\x3d"s + std::string(1'000'000, '\x58');
  }
  CHECK_FALSE(read_protobuf(schema.value(), type, nested, JsonForm::plain, much, out).empty());
}

TEST_CASE("the indexes of a message are read within limits") {
  std::vector<int> indexes;
  const auto taken = [&](std::string_view bytes) { return take_message_indexes(bytes, indexes); };
  CHECK(taken("\0"s));
  CHECK(indexes == std::vector{0});
  CHECK(taken("\x04\x02\x04"));
  CHECK(indexes == std::vector{1, 2});
  CHECK_FALSE(taken(""));
  CHECK_FALSE(taken("\x04\x02"));
  CHECK_FALSE(taken("\x01"));
  CHECK_FALSE(taken("\xff\xff\xff\xff\xff\xff"));
  const auto order = ProtobufSchema::of_set(bytes_of(fixtures()["set"]), "shop.Order");
  REQUIRE(order.ok());
}
