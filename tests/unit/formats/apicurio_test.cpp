// Values and keys as Apicurio's serializers write them (fixtures/make_apicurio.py).
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
using Catch::Matchers::ContainsSubstring;
using config::FormatKind;
using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds long_patience{60'000};

/// A record of a serializer, and the settings of its topic.
struct Written {
  explicit Written(const json& fixture) : is_key{fixture["is_key"]}, bytes{bytes_of(fixture["bytes"])} {
    const std::string format = fixture["format"];
    settings.kind = format == "avro"       ? FormatKind::avro
                    : format == "protobuf" ? FormatKind::protobuf
                                           : FormatKind::json_schema;
    if (fixture["is_apicurio"].get<bool>()) settings.schema_id = config::SchemaIdForm::apicurio;
    for (const json& header : fixture["headers"]) {
      names_and_values.emplace_back(header[0].get<std::string>(), bytes_of(header[1]));
    }
    for (const auto& [name, value] : names_and_values) headers.push_back({name, value});
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  /// The JSON, `as it came`, or the problem.
  std::string decoded() const {
    config::Topic topic;
    event::Record record;
    (is_key ? topic.key : topic.value) = settings;
    (is_key ? record.key : record.payload) = bytes;
    record.headers = headers;
    Decoders decoders{long_patience};
    base::Arena arena;
    const auto out = decoders.of(topic)->decode(record, arena);
    if (!out.is_usable()) return out.misfit + out.waits;
    const auto part = is_key ? out.key : out.value;
    return part ? std::string{*part} : "as it came";
  }

  const bool is_key;
  const std::string bytes;
  config::Format settings;
  std::vector<std::pair<std::string, std::string>> names_and_values;
  std::vector<event::Header> headers;
};

json fixture_named(const std::string& name) {
  for (const json& fixture : fixture_file("apicurio.json")) {
    if (fixture["name"] == name) return fixture;
  }
  throw std::runtime_error{"no fixture " + name};
}

}  // namespace

TEST_CASE("Avro of Apicurio's serializer is decoded, wherever the serializer writes the schema's id") {
  int count = 0;
  for (const json& fixture : fixture_file("apicurio.json")) {
    if (fixture["format"] != "avro") continue;
    INFO(fixture["name"]);
    FakeRegistry fake;
    fake.add_schema(fixture["id"], fixture["schema"]);
    Written written{fixture};
    written.settings.registry.url = fake.url();
    CHECK(written.decoded() == fixture["json"].get<std::string>());
    ++count;
  }
  CHECK(count == 6);
}

TEST_CASE("JSON of Apicurio's serializer is found without a registry") {
  CHECK(Written{fixture_named("JSON with an id in a header")}.decoded() == "as it came");
  CHECK(Written{fixture_named("JSON behind eight bytes")}.decoded() == R"({"id":"o-1"})");
}

TEST_CASE("Protobuf of Apicurio's serializer needs schema_file, and its schema's id in a header") {
  const TempFolder folder;
  write_file(folder / "shop.desc", bytes_of(fixture_file("protobuf.json")["set"]));
  const json fixture = fixture_named("a message with an id in a header");
  const auto by_file = [&](const json& of) {
    Written written{of};
    written.settings.schema_file = folder / "shop.desc";
    written.settings.message = "shop.Order";
    return written.decoded();
  };
  CHECK(by_file(fixture) == fixture["json"].get<std::string>());
  const json prefixed = fixture_named("a message behind its name");
  CHECK_THAT(by_file(prefixed), ContainsSubstring("the value does not fit schema_file"));

  // Confluent's registries give descriptors in base64, but Apicurio's serializer writes no indexes of a message.
  const json all = fixture_file("protobuf.json");
  FakeRegistry fake;
  fake.set("/schemas/ids/258", 200, R"({"schemaType":"PROTOBUF","schema":"syntax"})");
  fake.set("/schemas/ids/258?format=serialized", 200, all["cases"][0]["answer"].dump());
  for (const auto& [subject, answer] : all["subjects"].items()) {
    fake.set(subject + "?format=serialized", 200, answer.dump());
  }
  for (const json& each : {fixture, prefixed}) {
    Written written{each};
    written.settings.registry.url = fake.url();
    CHECK_THAT(written.decoded(), ContainsSubstring("it names no message of the schema"));
  }
}

TEST_CASE("a copy that was serialized with a prefix again is read by it, beside Apicurio's header as text") {
  FakeRegistry fake;
  fake.add_schema(7, R"("string")");
  json fixture = fixture_named("content id in a header");
  fixture["bytes"] = "0000000007046869";
  Written written{fixture};
  written.settings.registry.url = fake.url();
  written.settings.schema_id = config::SchemaIdForm::confluent;
  written.headers[0].value = "258";
  CHECK(written.decoded() == R"("hi")");
}

TEST_CASE("a header of Apicurio that holds no id is named") {
  Written written{fixture_named("content id in a header")};
  written.settings.registry.url = "http://127.0.0.1:1";
  written.headers[0].value = "\1\2";
  CHECK(written.decoded() == "the value names no schema: header apicurio.value.contentId holds no schema id");
}
