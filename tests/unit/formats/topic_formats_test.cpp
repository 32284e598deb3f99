// A topic's values by its format: Protobuf and JSON with a registry, files of schemas, JSON, text and bytes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "fixture_file.hpp"
#include "formats/topic_decoder.hpp"
#include "support/fake_registry.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::formats;
using namespace inboxd::formats::test;
using namespace inboxd::support;
using namespace std::string_literals;
using namespace std::string_view_literals;
using Catch::Matchers::ContainsSubstring;
using config::FormatKind;
using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds long_patience{60'000};

json fixtures() { return fixture_file("protobuf.json"); }

/// Answers as a registry does for the fixture under `id`.
void serve(FakeRegistry& fake, const json& all, const json& fixture, int id) {
  const std::string path = "/schemas/ids/" + std::to_string(id);
  fake.set(path, 200, R"({"schemaType":"PROTOBUF","schema":"syntax = \"proto3\";"})");
  fake.set(path + "?format=serialized", 200, fixture["answer"].dump());
  fake.set(path + "/versions", 200, R"([{"subject":"orders-value","version":1}])");
  for (const auto& [subject, answer] : all["subjects"].items()) {
    fake.set(subject + "?format=serialized", 200, answer.dump());
  }
}

struct Topic {
  config::Topic settings;
  Decoders decoders{long_patience};
  base::Arena arena;
  std::vector<event::Header> headers;

  explicit Topic(FormatKind kind) { settings.value.kind = kind; }

  /// The JSON, `as it came`, or the problem.
  std::string value(std::string_view payload) {
    event::Record record;
    record.payload = payload;
    record.headers = headers;
    const auto out = decoders.of(settings)->decode(record, arena);
    if (!out.is_usable()) return out.misfit + out.waits;
    return out.value ? std::string{*out.value} : "as it came";
  }
};

}  // namespace

TEST_CASE("messages of Confluent's serializer become the documented JSON, plain or as Protobuf writes it") {
  FakeRegistry fake;
  const json all = fixtures();
  int id = 0;
  for (const json& fixture : all["cases"]) {
    INFO(fixture["name"]);
    std::string bytes = bytes_of(fixture["bytes"]);
    bytes[4] = static_cast<char>(++id);
    serve(fake, all, fixture, id);
    Topic topic{FormatKind::protobuf};
    topic.settings.value.registry.url = fake.url();
    CHECK(topic.value(bytes) == fixture["plain"].get<std::string>());
    topic.settings.value.json = config::JsonForm::standard;
    const std::string standard = topic.value(bytes);
    INFO(standard);
    CHECK(json::parse(standard, nullptr, false) == fixture["standard"]);
  }
  CHECK(id == 7);
}

TEST_CASE("a message's indexes follow a schema's GUID in a header") {
  FakeRegistry fake;
  const json all = fixtures();
  const json& item = all["cases"][2];  // a message within another
  const std::string guid = "/schemas/guids/00010203-0405-0607-0809-0a0b0c0d0e0f";
  fake.set(guid, 200, R"({"schemaType":"PROTOBUF","schema":"syntax"})");
  fake.set(guid + "?format=serialized", 200, item["answer"].dump());
  serve(fake, all, item, 1);
  Topic topic{FormatKind::protobuf};
  topic.settings.value.registry.url = fake.url();
  topic.headers = {{"__value_schema_id", "\1\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\4\0\2"sv}};
  CHECK(topic.value("\x0a\x01x") == R"({"name":"x","count":0})");
}

TEST_CASE("a schema of another format, a message that it lacks, and a registry without descriptors are named") {
  FakeRegistry fake;
  const json all = fixtures();
  serve(fake, all, all["cases"][0], 1);
  fake.add_schema(2, R"("long")");
  fake.set("/schemas/ids/3", 200, R"({"schemaType":"PROTOBUF","schema":"syntax"})");
  fake.set("/schemas/ids/3?format=serialized", 200, R"({"schemaType":"PROTOBUF","schema":"syntax = \"proto3\";"})");
  Topic topic{FormatKind::protobuf};
  topic.settings.value.registry.url = fake.url();
  CHECK_THAT(topic.value("\0\0\0\0\2\0\0"sv), ContainsSubstring("the schema is of Avro"));
  CHECK_THAT(topic.value("\0\0\0\0\1\2\x12\0"sv), ContainsSubstring("the schema has no message at its indexes"));
  CHECK_THAT(topic.value("\0\0\0\0\1"sv), ContainsSubstring("it names no message of the schema"));
  CHECK_THAT(topic.value("\0\0\0\0\3\0"sv), ContainsSubstring("does not know format=serialized"));
  CHECK_THAT(topic.value("\0\0\0\0\1\0\x0a\5x"sv),
             ContainsSubstring("does not fit schema 1 (subject orders-value): the bytes end within a field"));
  topic.settings.value.kind = FormatKind::avro;
  CHECK_THAT(topic.value("\0\0\0\0\1\0"sv), ContainsSubstring("the schema is of Protobuf"));
}

TEST_CASE("JSON behind a schema's id is found without a registry, and must be JSON") {
  Topic topic{FormatKind::json_schema};
  CHECK(topic.value("\0\0\0\0\1{\"a\": 1}"sv) == "{\"a\": 1}");
  CHECK_THAT(topic.value("\0\0\0\0\1{\"a\""sv), ContainsSubstring("the value is not JSON"));
  CHECK_THAT(topic.value("{\"a\": 1}"), ContainsSubstring("names no schema"));
  topic.settings.value.schema_id = config::SchemaIdForm::apicurio;
  CHECK(topic.value("\0\0\0\0\0\0\0\0\1[]"sv) == "[]");
  topic.headers = {{"__value_schema_id", "\1\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf"sv}};
  CHECK(topic.value("[1]") == "as it came");
}

TEST_CASE("JSON stays as it came, text and bytes become JSON strings, and what is none is refused") {
  Topic in_json{FormatKind::json}, text{FormatKind::text}, bytes{FormatKind::bytes};
  CHECK(in_json.value(R"({"a": 1})") == "as it came");
  CHECK_THAT(in_json.value("{"), ContainsSubstring("the value is not JSON"));
  CHECK(text.value("say \"Zoë\"\n") == "\"say \\\"Zoë\\\"\\u000a\"");
  CHECK(text.value("") == "\"\"");
  CHECK(text.value("x\xff") == "the value cannot be decoded: it is not UTF-8 text");
  CHECK(bytes.value("\x00\xff"sv) == R"("AP8=")");
  bytes.settings.value.max_decoded = 8;
  CHECK_THAT(bytes.value("1234567"), ContainsSubstring("more than 8 bytes"));
}

TEST_CASE("a file holds the schema of all records, and a broken one stops nothing but its topic") {
  const TempFolder folder;
  write_file(folder / "order.avsc", R"({"type":"record","name":"A","fields":[{"name":"n","type":"long"}]})");
  Topic avro{FormatKind::avro};
  avro.settings.value.schema_file = folder / "order.avsc";
  CHECK(avro.value("\x54") == R"({"n":42})");
  CHECK_THAT(avro.value("\x54x"), ContainsSubstring("does not fit schema_file " + (folder / "order.avsc").string()));
  write_file(folder / "shop.desc", bytes_of(fixtures()["set"]));
  Topic protobuf{FormatKind::protobuf};
  protobuf.settings.value.schema_file = folder / "shop.desc";
  protobuf.settings.value.message = "shop.Money";
  CHECK(protobuf.value("\x08\x05") == R"({"units":5,"currency":""})");
  CHECK(protobuf.value("") == R"({"units":0,"currency":""})");
  protobuf.settings.value.message = "shop.Nothing";
  CHECK_THAT(protobuf.value(""), ContainsSubstring("shop.desc has no message shop.Nothing"));
  protobuf.settings.value.schema_file = folder / "gone";
  CHECK_THAT(protobuf.value(""), ContainsSubstring("cannot be read: No such file"));
}
