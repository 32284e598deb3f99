// Avro's binary encoding as JSON.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "fixture_file.hpp"
#include "formats/avro_reader.hpp"
#include "formats/avro_schema.hpp"

using namespace inboxd;
using namespace inboxd::formats;
using namespace inboxd::formats::test;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;
using config::JsonForm;

namespace {

constexpr std::size_t much = 1 << 20;

struct Case {
  std::string name, bytes, plain, avro;
  AvroSchema schema;
};

/// Values of Confluent's serializer (fixtures/make.py), without its prefix.
std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& each : fixture_file("avro.json")) {
    auto schema = parse_avro(each["schema"].get<std::string>(), each["references"].get<std::vector<std::string>>());
    INFO(each["name"]);
    REQUIRE(schema.ok());
    out.push_back({each["name"], bytes_of(each["bytes"].get<std::string>().substr(10)), each["plain"], each["avro"],
                   std::move(schema).value()});
  }
  return out;
}

AvroSchema schema_of(const std::string& text) {
  auto schema = parse_avro(text);
  REQUIRE(schema.ok());
  return std::move(schema).value();
}

std::string problem_of(const std::string& schema, const std::string& bytes, std::size_t max_bytes = much) {
  std::string out;
  return read_avro(schema_of(schema), bytes, JsonForm::plain, max_bytes, out);
}

std::string json_of(const std::string& schema, const std::string& bytes) {
  std::string out;
  REQUIRE(read_avro(schema_of(schema), bytes, JsonForm::plain, much, out).empty());
  return out;
}

std::string schema_problem(const std::string& text) {
  const auto schema = parse_avro(text);
  return schema ? "" : schema.problem().message;
}

}  // namespace

TEST_CASE("values of Confluent's serializer become the documented JSON, plain or as Avro writes it") {
  for (const Case& each : cases()) {
    INFO(each.name);
    std::string json;
    CHECK(read_avro(each.schema, each.bytes, JsonForm::plain, much, json).empty());
    CHECK(json == each.plain);
    CHECK(read_avro(each.schema, each.bytes, JsonForm::standard, much, json).empty());
    CHECK(json == each.avro);
    CHECK(nlohmann::json::accept(json));
  }
}

TEST_CASE("a value that is cut anywhere, or has a byte too many, does not fit its schema") {
  for (const Case& each : cases()) {
    INFO(each.name);
    std::string json;
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      INFO(size << " bytes");
      CHECK_FALSE(read_avro(each.schema, each.bytes.substr(0, size), JsonForm::plain, much, json).empty());
    }
    CHECK_THAT(read_avro(each.schema, each.bytes + "x", JsonForm::plain, much, json),
               ContainsSubstring("1 bytes follow the value"));
  }
}

TEST_CASE("hostile counts, sizes and circles end within the limits") {
  const std::string nulls = R"({"type":"array","items":"null"})";
  CHECK_THAT(problem_of(nulls, bytes_of("feffffffffffffffff01")), ContainsSubstring("more than 1048576 bytes"));
  CHECK_THAT(problem_of(nulls, bytes_of("ffffffffffffffffff01")), ContainsSubstring("out of range"));
  CHECK_THAT(problem_of(R"("string")", bytes_of("feffffffffffffffff01")), ContainsSubstring("end within the value"));
  CHECK_THAT(problem_of(R"("bytes")", bytes_of("01")), ContainsSubstring("a length is below zero"));
  CHECK_THAT(problem_of(R"("long")", std::string(11, '\xff')), ContainsSubstring("more than 64 bits"));
  CHECK_THAT(problem_of(R"("int")", bytes_of("8080808010")), ContainsSubstring("more than 32 bits"));
  CHECK_THAT(problem_of(R"({"type":"record","name":"A","fields":[{"name":"a","type":"A"}]})", ""),
             ContainsSubstring("nested more than 200 deep"));
  CHECK_THAT(problem_of(R"({"type":"record","name":"A","fields":[{"name":"a","type":["null","A"]}]})",
                        std::string(10'000, '\x02')),
             ContainsSubstring("nested more than 200 deep"));
  // Each record holds the next twice: 2^60 values of no byte each.
  std::string doubled = R"({"type":"record","name":"R0","fields":[]})";
  for (int i = 1; i <= 30; ++i) {
    doubled = R"({"type":"record","name":"R)" + std::to_string(i) + R"(","fields":[{"name":"a","type":)" + doubled +
              R"(},{"name":"b","type":"R)" + std::to_string(i - 1) + R"("}]})";
  }
  CHECK_THAT(problem_of(doubled, ""), ContainsSubstring("more than 1048576 bytes"));
  CHECK_THAT(problem_of(R"("string")", bytes_of("0c") + "longer", 4), ContainsSubstring("more than 4 bytes"));
}

TEST_CASE("the reason names the field, and no byte of the value") {
  const std::string schema = R"({"type":"record","name":"A","fields":[{"name":"inner","type":
    {"type":"record","name":"B","fields":[{"name":"flag","type":"boolean"}]}}]})";
  CHECK(problem_of(schema, "\x07") == "at /inner/flag: a boolean is neither 0 nor 1");
  CHECK(problem_of(R"(["null"])", bytes_of("04")) == "a union has no such branch");
  CHECK(problem_of(R"({"type":"enum","name":"E","symbols":["A"]})", bytes_of("01")) == "an enum has no such symbol");
  CHECK(problem_of(R"("string")", bytes_of("02ff")) == "a string is not UTF-8");
}

TEST_CASE("times beyond the years 1 to 9999 are written as their numbers") {
  CHECK(json_of(R"({"type":"int","logicalType":"date"})", bytes_of("feffffff0f")) == "2147483647");
  CHECK(json_of(R"({"type":"long","logicalType":"timestamp-micros"})", bytes_of("ffffffffffffffffff01")) ==
        "-9223372036854775808");
  CHECK(json_of(R"({"type":"long","logicalType":"timestamp-nanos"})", bytes_of("ffffffffffffffffff01")) ==
        R"("1677-09-21T00:12:43.145224192Z")");
  CHECK(json_of(R"({"type":"int","logicalType":"time-millis"})", bytes_of("01")) == "-1");
}

TEST_CASE("fixed types have their logical form, and a logical type that does not fit has no meaning") {
  CHECK(json_of(R"({"type":"fixed","name":"D","size":12,"logicalType":"duration"})",
                bytes_of("01000000020000000b0c0000")) == R"("P1M2DT3.083S")");
  CHECK(json_of(R"({"type":"fixed","name":"U","size":16,"logicalType":"uuid"})",
                bytes_of("6ba7b8109dad11d180b400c04fd430c8")) == R"("6ba7b810-9dad-11d1-80b4-00c04fd430c8")");
  CHECK(json_of(R"({"type":"bytes","logicalType":"decimal","precision":4,"scale":-2})", bytes_of("0201")) ==
        R"("AQ==")");
  CHECK(json_of(R"({"type":"bytes","logicalType":"decimal","precision":4,"scale":0})", bytes_of("0280")) ==
        R"("-128")");
  CHECK(json_of(R"({"type":"string","logicalType":"date"})", bytes_of("0278")) == R"("x")");
}

TEST_CASE("a schema that cannot be used says why") {
  CHECK(schema_problem("{") == "is not JSON");
  CHECK_THAT(schema_problem(R"("app.Money")"), ContainsSubstring("app.Money, which it does not define"));
  CHECK_THAT(schema_problem("[]"), ContainsSubstring("a union without a branch"));
  CHECK_THAT(schema_problem(R"({"type":"record","name":"A"})"), ContainsSubstring("a record without fields"));
  CHECK_THAT(schema_problem(R"({"type":"fixed","name":"A","size":-1})"), ContainsSubstring("without a size"));
  std::string deep = R"("int")";
  for (int i = 0; i < 100; ++i) deep = R"({"type":"array","items":)" + deep + "}";
  CHECK_THAT(schema_problem(deep), ContainsSubstring("nested more than 64 deep"));
  std::string wide = "[\"int\"";
  for (int i = 0; i < 10'000; ++i) wide += ",\"int\"";
  CHECK_THAT(schema_problem(wide + "]"), ContainsSubstring("more than 10000 types"));
  CHECK_THAT(schema_problem(R"([{"type":"fixed","name":"A","size":1},{"type":"fixed","name":"A","size":1}])"),
             ContainsSubstring("defines A twice"));
}
