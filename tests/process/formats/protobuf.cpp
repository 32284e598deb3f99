// Topics in Protobuf, with a registry and with a file; and their handlers.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/fake_registry.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string bytes_of(const std::string& digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return out;
}

/// Messages of Confluent's serializer, and the answers of a registry for them.
nlohmann::json fixtures() {
  std::ifstream file{"tests/unit/formats/fixtures/protobuf.json"};
  return nlohmann::json::parse(file);
}

/// shop.Money {units: n} without a prefix; n is below 128.
std::string money(int n) { return std::string{"\x08"} + static_cast<char>(n) + "\x12\x03" "EUR"; }

struct ProtobufFixture : DaemonFixture {
  ProtobufFixture() : DaemonFixture{1} {
    write_file(descriptors(), bytes_of(fixtures()["set"]));
    config.topics = {topic_with_file()};
    app.run("create table app.orders (event_id uuid, units bigint, currency text)");
    config.handlers = {app.statement("orders", "insert into app.orders select event_id, (body->>'units')::bigint, "
                                               "body->>'currency' from events")};
  }

  std::filesystem::path descriptors() const { return folder / "shop.desc"; }
  std::string topic_with_file() const {
    return "{name: " + topic + ", on_missing_id: position, value: {format: protobuf, message: shop.Money, " +
           "schema_file: " + descriptors().string() + "}}";
  }
  std::string topic_with_registry() const {
    return "{name: " + topic + ", envelope: custom, custom: {id: 'json:/id'}, value: {format: protobuf, " +
           "registry: {url: " + registry.url() + ", timeout: 5s}}}";
  }

  void produce(const std::string& payload) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    kafka.produce({message});
  }

  TempFolder folder;
  FakeRegistry registry;
  Application app{database};
};

}  // namespace

TEST_CASE("orders in Protobuf reach a table, with the registry's schema and its references") {
  ProtobufFixture fixture;
  const auto all = fixtures();
  const auto& order = all["cases"][0];
  const std::string schema = "/schemas/ids/2";
  fixture.registry.set(schema, 200, R"({"schemaType":"PROTOBUF","schema":"syntax"})");
  fixture.registry.set(schema + "?format=serialized", 200, order["answer"].dump());
  for (const auto& [path, answer] : all["subjects"].items()) {
    fixture.registry.set(path + "?format=serialized", 200, answer.dump());
  }
  fixture.config.topics = {fixture.topic_with_registry()};
  fixture.config.handlers = {fixture.app.statement(
      "orders", "insert into app.orders select event_id, (body->>'number')::bigint, body->'total'->>'currency' "
                "from events")};
  const auto daemon = fixture.start();
  fixture.produce(bytes_of(order["bytes"]));
  fixture.app.wait_for("the order is there", "select count(*) from app.orders", 1);
  CHECK(fixture.app.text("select units || currency from app.orders") == "9223372036854775807EUR");
  CHECK(fixture.database.text("select source_id from inbox.event") == "o-1");
}

TEST_CASE("orders in Protobuf are read with a file, also after a crash, and one that does not fit is set aside") {
  ProtobufFixture fixture;
  auto daemon = fixture.start();
  for (int n = 1; n <= 20; ++n) fixture.produce(money(n));
  fixture.app.wait_for("orders are there", "select count(*) from app.orders", 20);
  daemon->kill();
  fixture.produce(money(21));
  fixture.produce("\x12\x05" "EUR");
  daemon = fixture.start();
  fixture.app.wait_for("the last order is there", "select count(*) from app.orders where units = 21", 1);
  CHECK(fixture.app.number("select count(distinct event_id) from app.orders where currency = 'EUR'") == 21);
  fixture.database.wait_for("the damaged one is in quarantine", "select count(*) from inbox.quarantine", 1);
  CHECK_THAT(fixture.database.text("select detail from inbox.quarantine"),
             ContainsSubstring("does not fit schema_file " + fixture.descriptors().string()));
}

TEST_CASE("a dead order is replayed, and a new handler is back-filled, with the decoded body") {
  ProtobufFixture fixture;
  fixture.config.handlers[0] = fixture.app.statement(
      "orders", "insert into app.orders select event_id, 1 / (select count(*) from app.open), body->>'currency' from "
                "events", {"retry: {max_attempts: 1}"});
  fixture.app.run("create table app.open (yes int)");
  auto daemon = fixture.start();
  fixture.produce(money(5));
  fixture.database.wait_for("the order is dead", "select count(*) from inbox.dead_letter where state = 'dead'", 1);
  CHECK(fixture.database.text("select convert_from(decoded, 'UTF8') from inbox.dead_letter") ==
        R"({"units":5,"currency":"EUR"})");
  fixture.app.run("insert into app.open values (1)");
  CHECK(command(fixture.config, {"dead", "replay", "--handler", "orders", "--yes"}).status == ExitStatus{0, 0});
  fixture.app.wait_for("the order is there", "select count(*) from app.orders where currency = 'EUR'", 1);
  fixture.config.handlers.push_back(fixture.app.statement(
      "again", "insert into app.orders select event_id, (body->>'units')::bigint, 'again' from events"));
  daemon->stop();
  daemon = fixture.start();
  fixture.app.wait_for("the new handler got it",
                       "select count(*) from app.orders where currency = 'again' and units = 5", 1);
}

TEST_CASE("handler exec gets JSON, or with `payload: raw` the bytes as they came") {
  ProtobufFixture fixture;
  fixture.config.handlers.clear();
  for (const std::string form : {"decoded", "raw"}) {
    HandlerText handler;
    handler.name = form;
    handler.plugin = "exec";
    handler.settings = {{"command", "[sh, -c, 'cat > " + (fixture.folder / form).string() + "']"},
                        {"mode", "once"},
                        {"payload", form}};
    fixture.config.handlers.push_back(handler);
  }
  const auto daemon = fixture.start();
  fixture.produce(money(7));
  const auto got = [&](const std::string& form) { return read_file(fixture.folder / form); };
  wait_until("both got it", [&] { return got("raw") == money(7) && !got("decoded").empty(); });
  wait_until("the JSON is there", [&] { return got("decoded") == R"({"units":7,"currency":"EUR"})"; });
}

TEST_CASE("check reads the schema files, and says what is wrong with one") {
  ProtobufFixture fixture;
  CHECK_THAT(command(fixture.config, {"check", "--offline"}).out,
             ContainsSubstring(fixture.descriptors().string() + " can be used"));
  write_file(fixture.descriptors(), "syntax = \"proto3\";");
  const auto checked = command(fixture.config, {"check", "--offline"});
  CHECK_FALSE(checked.status == ExitStatus{0, 0});
  CHECK_THAT(checked.out + checked.err, ContainsSubstring("shop.desc is no set of descriptors; write it with protoc"));
}
