// The schemas of a registry.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "formats/topic_decoder.hpp"
#include "support/fake_registry.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::formats;
using namespace inboxd::support;
using namespace std::string_view_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::chrono::milliseconds long_patience{60'000};

config::Registry settings_of(const FakeRegistry& fake) {
  config::Registry out;
  out.url = fake.url();
  out.timeout = long_patience;
  return out;
}

SchemaId number(std::uint64_t id) { return SchemaId::of_number(id); }

SchemaAnswer ask(Registry& registry, std::uint64_t id) { return registry.find(number(id), long_patience); }

/// A topic in Avro.
config::Topic topic_of(const config::Registry& settings) {
  config::Topic out;
  out.value.kind = config::FormatKind::avro;
  out.value.registry = settings;
  return out;
}

DecodedRecord decoded(const config::Topic& topic, const event::Record& record, base::Arena& arena) {
  Decoders decoders{long_patience};
  return decoders.of(topic)->decode(record, arena);
}

}  // namespace

TEST_CASE("a schema is fetched once, with its subject") {
  FakeRegistry fake;
  fake.add_schema(7, R"("long")", "orders-value");
  Registry registry{settings_of(fake)};
  for (int i = 0; i < 3; ++i) {
    const auto answer = ask(registry, 7);
    REQUIRE(answer.schema != nullptr);
    CHECK(answer.schema->subject == "orders-value");
  }
  CHECK(fake.requests("/schemas/ids/7") == 1);
}

TEST_CASE("an unknown id is not asked for again until unknown_interval has passed") {
  FakeRegistry fake;
  auto settings = settings_of(fake);
  settings.unknown_interval = std::chrono::hours{1};
  Registry registry{settings};
  CHECK(ask(registry, 7).misfit == "is unknown to the registry");
  fake.add_schema(7, R"("long")");
  CHECK(ask(registry, 7).misfit == "is unknown to the registry");
  CHECK(fake.requests("/schemas/ids/7") == 1);

  settings.unknown_interval = std::chrono::milliseconds{0};
  Registry impatient{settings};
  CHECK(ask(impatient, 8).schema == nullptr);
  fake.add_schema(8, R"("long")");
  CHECK(ask(impatient, 8).schema != nullptr);
}

TEST_CASE("a registry that refuses, fails or is no registry makes records wait, and says who is refused") {
  FakeRegistry fake;
  fake.add_schema(7, R"("long")");
  auto settings = settings_of(fake);
  settings.user = "inboxd";
  settings.password = config::Secret{"secret"};
  const auto waits = [&] {
    Registry registry{settings};
    const auto answer = ask(registry, 7);
    CHECK(answer.schema == nullptr);
    CHECK(answer.misfit.empty());
    CHECK_THAT(answer.waits, ContainsSubstring(fake.url()));
    return answer.waits;
  };
  fake.answer_all(401);
  CHECK_THAT(waits(), ContainsSubstring("refuses user inboxd (status 401)"));
  CHECK_THAT(fake.last_head(), ContainsSubstring("Authorization: Basic aW5ib3hkOnNlY3JldA=="));
  fake.answer_all(503);
  CHECK_THAT(waits(), ContainsSubstring("answers with status 503"));
  fake.answer_all(0);
  fake.set("/schemas/ids/7", 404, "<html>");
  fake.set("/subjects?subjectPrefix=inboxd-check", 404, "<html>");
  CHECK_THAT(waits(), ContainsSubstring("is registry.url right?"));
  fake.set("/schemas/ids/7", 200, "<html>");
  CHECK_THAT(waits(), ContainsSubstring("is registry.url right?"));
  fake.stop();
  CHECK_THAT(waits(), ContainsSubstring("does not answer"));
}

TEST_CASE("a token is sent as bearer") {
  FakeRegistry fake;
  auto settings = settings_of(fake);
  settings.token = config::Secret{"abc"};
  Registry registry{settings};
  ask(registry, 7);
  CHECK_THAT(fake.last_head(), ContainsSubstring("Authorization: Bearer abc\r\n"));
}

TEST_CASE("while a registry is away it is not asked by every record, and once it is back schemas are found") {
  FakeRegistry fake;
  fake.add_schema(7, R"("long")");
  fake.answer_all(500);
  Registry registry{settings_of(fake)};
  for (int i = 0; i < 100; ++i) CHECK_FALSE(ask(registry, 7).waits.empty());
  CHECK(fake.requests() < 50);
  fake.answer_all(0);
  wait_until("it is asked again", [&] { return ask(registry, 7).schema != nullptr; });
}

TEST_CASE("a registry that hangs holds no record for longer than the patience, and no destructor for long") {
  FakeRegistry fake;
  fake.answer_all(-1);
  Registry registry{settings_of(fake)};
  CHECK_THAT(registry.find(number(7), std::chrono::milliseconds{1}).waits, ContainsSubstring("has not answered yet"));
}

TEST_CASE("no more requests are made within a minute than the limit, and further ids wait") {
  FakeRegistry fake;
  auto settings = settings_of(fake);
  settings.max_requests_per_minute = 20;
  Registry registry{settings};
  int waiting = 0;
  for (std::uint64_t id = 0; id < 100; ++id) waiting += ask(registry, id).waits.empty() ? 0 : 1;
  CHECK(fake.requests() == 20);
  CHECK(waiting == 80);
}

TEST_CASE("made-up ids push no known schema out of memory") {
  FakeRegistry fake;
  fake.add_schema(7, R"("long")");
  auto settings = settings_of(fake);
  settings.max_schemas = 10;
  Registry registry{settings};
  CHECK(ask(registry, 7).schema != nullptr);
  for (std::uint64_t id = 100; id < 150; ++id) ask(registry, id);
  CHECK(ask(registry, 7).schema != nullptr);
  CHECK(fake.requests("/schemas/ids/7") == 1);
}

TEST_CASE("an answer that is too large, of another type, or no schema is the schema's fault, not the registry's") {
  FakeRegistry fake;
  auto settings = settings_of(fake);
  settings.max_answer = 2'000;
  Registry registry{settings};
  fake.set("/schemas/ids/1", 200, std::string(3'000, ' '));
  CHECK(ask(registry, 1).misfit == "is larger than registry.max_answer");
  fake.set("/schemas/ids/2", 200, R"({"schema":"{}","schemaType":"JSON"})");
  CHECK(ask(registry, 2).misfit == "is of type JSON, neither AVRO nor PROTOBUF");
  fake.add_schema(3, "{");
  CHECK(ask(registry, 3).misfit == "is not JSON");
}

TEST_CASE("references are fetched, each after its own references") {
  FakeRegistry fake;
  fake.set("/subjects/app.money/versions/2", 200,
           R"({"schema":"{\"type\":\"record\",\"name\":\"app.Money\",)"
           R"(\"fields\":[{\"name\":\"c\",\"type\":\"app.Code\"}]}",)"
           R"("references":[{"name":"app.Code","subject":"code/1","version":1}]})");
  fake.set("/subjects/code%2f1/versions/1", 200,
           R"({"schema":"{\"type\":\"enum\",\"name\":\"app.Code\",\"symbols\":[\"EUR\"]}"})");
  const std::string reference = R"([{"name":"app.Money","subject":"app.money","version":2}])";
  fake.add_schema(7, R"("app.Money")", "orders-value", reference);
  Registry registry{settings_of(fake)};
  const auto answer = ask(registry, 7);
  INFO(answer.misfit << answer.waits);
  CHECK(answer.schema != nullptr);
  fake.add_schema(8, R"("app.Gone")", "orders-value", R"([{"name":"app.Gone","subject":"gone","version":1}])");
  CHECK(ask(registry, 8).misfit == "has a reference that is unknown to the registry");
  fake.set("/subjects/circle/versions/1", 200,
           R"({"schema":"\"int\"","references":[{"name":"a","subject":"circle","version":1}]})");
  fake.add_schema(9, R"("int")", "orders-value", R"([{"name":"a","subject":"circle","version":1}])");
  CHECK(ask(registry, 9).schema != nullptr);
}

TEST_CASE("a record names its schema in four bytes, in eight, or in a header") {
  FakeRegistry fake;
  fake.add_schema(258, R"("string")");
  fake.set("/schemas/guids/00010203-0405-0607-0809-0a0b0c0d0e0f", 200, R"({"schema":"\"string\""})");
  auto topic = topic_of(settings_of(fake));
  base::Arena arena;
  event::Record record;
  const auto value = [&](std::string_view payload) {
    record.payload = payload;
    const auto out = decoded(topic, record, arena);
    return out.is_usable() ? std::string{*out.value} : out.misfit + out.waits;
  };
  CHECK(value("\0\0\0\1\2\2x"sv) == "\"x\"");
  CHECK_THAT(value("{}"), ContainsSubstring("byte 0x7b"));
  CHECK_THAT(value(""), ContainsSubstring("it is empty"));
  CHECK_THAT(value("\0\0\1"sv), ContainsSubstring("ends within the schema id"));
  CHECK(value("\0\0\0\1\2\4x"sv) ==
        "the value does not fit schema 258 (subject orders-value): the bytes end within the value");
  CHECK(value("\0\0\0\0\1\2x"sv) == "schema 1 of the value is unknown to the registry");
  topic.value.schema_id = config::SchemaIdForm::apicurio;
  CHECK(value("\0\0\0\0\0\0\0\1\2\2x"sv) == "\"x\"");
  record.headers = {{"__value_schema_id", "\1\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf"sv}};
  CHECK(value("\2x"sv) == "\"x\"");
  record.headers = {{"__value_schema_id", "\0\0\0\1\2"sv}};
  CHECK(value("\2x"sv) == "\"x\"");
  record.headers = {{"__value_schema_id", "\7"}};
  CHECK_THAT(value("\2x"sv), ContainsSubstring("holds no schema id"));
}

TEST_CASE("null stays null, and key and value have schemas of their own") {
  FakeRegistry fake;
  fake.add_schema(1, R"("string")");
  fake.add_schema(2, R"("long")");
  auto topic = topic_of(settings_of(fake));
  topic.key = topic.value;
  base::Arena arena;
  event::Record record;
  record.key = "\0\0\0\0\2\x54"sv;
  const auto tombstone = decoded(topic, record, arena);
  CHECK(tombstone.is_usable());
  CHECK_FALSE(tombstone.value);
  CHECK(*tombstone.key == "42");
  record.key = "\0\0\0\0\2\x54x"sv;
  CHECK_THAT(decoded(topic, record, arena).misfit, ContainsSubstring("the key does not fit schema 2"));
}

TEST_CASE("an id that the registry refuses stops its own records only, and a wrong address is no unknown schema") {
  FakeRegistry fake;
  fake.add_schema(7, R"("long")");
  fake.set("/schemas/ids/1", 400, R"({"error_code":42202,"message":"bad"})");
  fake.set("/schemas/ids/2", 404, "no such page");
  fake.set("/schemas/ids/3", 500, "{}");
  Registry registry{settings_of(fake)};
  CHECK(ask(registry, 1).misfit == "is refused by the registry (status 400)");
  CHECK(ask(registry, 2).misfit == "is refused by the registry (status 404)");
  CHECK_THAT(ask(registry, 3).waits, ContainsSubstring("answers with status 500"));
  CHECK(ask(registry, 7).schema != nullptr);
  CHECK(ask(registry, 3'000'000'000).misfit == "has a number beyond those of registries");

  const std::string jersey = R"({"error_code":404,"message":"HTTP 404 Not Found"})";
  FakeRegistry elsewhere;
  elsewhere.set("/schemas/ids/7", 404, jersey);
  elsewhere.set("/subjects?subjectPrefix=inboxd-check", 404, jersey);
  Registry wrong{settings_of(elsewhere)};
  CHECK_THAT(ask(wrong, 7).waits, ContainsSubstring("is registry.url right?"));
  CHECK_THAT(RegistryClient{settings_of(elsewhere)}.probe(), ContainsSubstring("is registry.url right?"));
}
