// Configurations that `inboxd import connect` makes, run against real servers: the rows are those of the connector.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "process/formats/avro_fixture.hpp"
#include "process/setup/pages.hpp"
#include "support/fake_registry.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// A server, a topic, and a connector that is imported and run.
struct Connected {
  PrivatePostgres server;
  Session session{server.url(), "inbox"};
  Kafka kafka;
  std::string topic = kafka.create_topic();
  TempFolder folder;
  json settings{{"connector.class", "io.confluent.connect.jdbc.JdbcSinkConnector"},
                {"topics", topic},
                {"connection.url", "jdbc:postgresql://localhost/app"}};

  /// Imports with the columns of the server's tables; returns what the command said.
  std::string translate() {
    write_file(folder / "sink.json", json{{"name", topic}, {"config", settings}}.dump());
    const std::string said =
        run_shell(folder.path(), "inboxd import connect sink.json --database '" + server.url() + "' --brokers " +
                                     kafka.brokers() + " --out inboxd.yaml --force");
    write_file(folder / "inboxd.yaml", read_file(folder / "inboxd.yaml") + "admin: {listen: off}\n");
    return said;
  }
  /// Runs it until everything is handled; no event may have failed.
  void run() {
    run_shell(folder.path(), "inboxd --config inboxd.yaml migrate\ninboxd --config inboxd.yaml check\n"
                             "inboxd --config inboxd.yaml run --until-idle");
    CHECK(session.text("select coalesce(string_agg(reasons::text, ' '), '') from inbox.dead_letter") == "");
    CHECK(session.number("select count(*) from inbox.quarantine") == 0);
  }
  void produce(const std::optional<std::string>& key, const std::optional<std::string>& value) {
    kafka.produce({Message{.topic = topic, .key = key, .payload = value}});
  }
  std::string rows(const std::string& table, const std::string& order) {
    return session.text("select coalesce(string_agg(t::text, ' ' order by " + order + "), '') from " + table + " t");
  }
};

/// As the JsonConverter with schemas writes it.
std::string with_schema(const std::string& payload) {
  return R"({"schema": {"type": "struct", "fields": []}, "payload": )" + payload + "}";
}

}  // namespace

TEST_CASE("JDBC page: the connector's rows continue at its offsets, with upserts, deletes and times") {
  const Page page{"coming-from-jdbc-sink.md"};
  Connected c;
  c.session.run(page.block("sql"));
  const std::string group = "connect-" + c.topic;
  // Written by the connector before it stopped: offsets 0 and 1.
  c.produce(R"({"id": 1})", with_schema(R"({"id": 1, "amount": 1.5, "note": "a", "placed_at": 1700000000000})"));
  c.produce(R"({"id": 2})", with_schema(R"({"id": 2, "amount": 2, "note": "b", "placed_at": null})"));
  c.session.run("insert into orders values (1, 1.5, 'the connector', to_timestamp(1700000000)), (2, 2, 'b', null)");
  commit_offset(c.kafka.brokers(), group, c.topic, 2);
  c.produce(R"({"id": 2})", std::nullopt);  // a tombstone
  c.produce(with_schema(R"({"id": 3})"),
            with_schema(R"({"id": 3, "amount": 3, "note": "c", "placed_at": 1700000000123})"));
  c.produce(R"(3)", with_schema(R"({"id": 3, "amount": 33, "note": null, "placed_at": 1700000000123})"));
  c.produce(R"({"id": 4})", R"({"id": 4, "amount": 4, "note": "gone again", "placed_at": "2024-01-01T00:00:00Z"})");
  c.produce(R"({"id": 4})", std::nullopt);
  c.produce(R"({"id": 5})", R"({"id": 5, "amount": 5, "note": "flat", "placed_at": "2024-01-01T00:00:00Z"})");
  const Replacements names{{"orders-sink", c.topic}, {"\"topics\": \"orders\"", "\"topics\": \"" + c.topic + "\""}};
  write_file(c.folder / (c.topic + ".json"), page.block("json", "", names));
  run_shell(c.folder.path(), page.block("sh", "**Translate.**",
                                        {{"orders-sink", c.topic},
                                         {"postgresql://app@localhost/app", c.server.url()},
                                         {"localhost:9092", c.kafka.brokers()}}));
  CHECK_THAT(read_file(c.folder / "inboxd.yaml"), ContainsSubstring("group: " + group) && !ContainsSubstring("COLUMN"));
  write_file(c.folder / "inboxd.yaml", read_file(c.folder / "inboxd.yaml") + "admin: {listen: off}\n");
  run_shell(c.folder.path(), page.block("sh", "**Start inboxd"));
  c.session.run("set time zone 'UTC'");
  CHECK(c.rows("orders", "id") == "(1,1.5,\"the connector\",\"2023-11-14 22:13:20+00\") "
                                  "(3,33,,\"2023-11-14 22:13:20.123+00\") "
                                  "(5,5,flat,\"2024-01-01 00:00:00+00\")");
  CHECK(c.session.number("select count(*) from inbox.event") == 6);
  CHECK(c.session.number("select count(*) from inbox.dead_letter") == 0);
  CHECK(c.kafka.committed(group, c.topic) == std::map<int, std::int64_t>{{0, 8}});
}

TEST_CASE("an imported connector of Debezium keeps the copy of a table, deletes included") {
  Connected c;
  c.session.run("create table customer (id bigint primary key, name text, born date, seen timestamptz, photo bytea)");
  c.settings["connector.class"] = "io.debezium.connector.jdbc.JdbcSinkConnector";
  c.settings.update({{"collection.name.format", "customer"}, {"insert.mode", "upsert"}, {"delete.enabled", "true"},
                     {"primary.key.mode", "record_key"}, {"primary.key.fields", "id"}});
  const auto change = [&](const std::string& op, int position, const std::string& before, const std::string& after) {
    return R"({"op": ")" + op + R"(", "before": )" + before + R"(, "after": )" + after +
           R"(, "ts_ms": 1700000000000, "source": {"connector": "postgresql", "name": "shop", "ts_ms": 1700000000000,
              "schema": "public", "table": "customer", "txId": 1, "lsn": )" + std::to_string(position) + "}}";
  };
  const std::string ada = R"({"id": 1, "name": "Ada", "born": -56273, "seen": 1700000000123456, "photo": "/wA="})";
  c.produce(R"({"id": 1})", change("r", 1, "null", ada));
  c.produce(R"({"id": 2})", change("c", 2, "null", R"({"id": 2, "name": "Bob"})"));
  c.produce(R"({"id": 2})", change("u", 3, "null", R"({"id": 2, "name": "Rob"})"));
  c.produce(R"({"id": 3})", change("c", 4, "null", R"({"id": 3, "name": "Eve"})"));
  c.produce(R"({"id": 3})", change("d", 5, R"({"id": 3, "name": "Eve"})", "null"));
  c.produce(R"({"id": 3})", std::nullopt);
  c.translate();
  c.run();
  c.session.run("set time zone 'UTC'");
  CHECK(c.rows("customer", "id") == "(1,Ada,1815-12-07,\"2023-11-14 22:13:20.123456+00\",\"\\\\xff00\") (2,Rob,,,)");
}

TEST_CASE("imported connectors insert, update, and key rows by their place in Kafka") {
  Connected c;
  c.session.run(
      "create table hit (path text, n int);"
      "create table price (sku text primary key, price numeric, old boolean default true);"
      "create table place (topic text, part int, o bigint, path text, primary key (topic, part, o));"
      "insert into price values ('a', 1), ('b', 2)");
  const auto run_as = [&](const json& settings) {
    c.settings.update(settings);
    c.topic = c.kafka.create_topic();
    c.settings["topics"] = c.topic;
    c.produce("a", R"({"path": "/x", "n": 1, "price": 10})");
    c.produce("c", R"({"path": "/x", "n": 1, "price": 30})");
    c.translate();
    c.run();
  };
  run_as({{"table.name.format", "hit"}});
  CHECK(c.rows("hit", "path") == "(/x,1) (/x,1)");
  run_as({{"table.name.format", "price"}, {"insert.mode", "update"}, {"pk.mode", "record_key"}, {"pk.fields", "sku"},
          {"fields.whitelist", "price"}, {"key.converter", "org.apache.kafka.connect.storage.StringConverter"}});
  CHECK(c.rows("price", "sku") == "(a,10,t) (b,2,t)");
  run_as({{"table.name.format", "place"}, {"insert.mode", "upsert"}, {"pk.mode", "kafka"},
          {"pk.fields", "topic,part,o"}, {"fields.whitelist", ""}});
  CHECK(c.rows("place", "o") == "(" + c.topic + ",0,0,/x) (" + c.topic + ",0,1,/x)");
}

TEST_CASE("an imported connector that renames fields keeps the values, and one that masks them does not run unedited") {
  Connected c;
  c.session.run("create table person (person_id bigint primary key, email text, seen timestamp, origin text);"
                "insert into person values (1, 'old@example.org')");
  const std::string transform = "org.apache.kafka.connect.transforms.";
  c.settings.update({{"table.name.format", "person"}, {"insert.mode", "upsert"}, {"pk.mode", "record_key"},
                     {"pk.fields", "person_id"},
                     {"key.converter", "org.apache.kafka.connect.json.JsonConverter"},
                     {"transforms", "value,key,origin"},
                     {"transforms.value.type", transform + "ReplaceField$Value"},
                     {"transforms.value.renames", "mail:email"},
                     {"transforms.key.type", transform + "ReplaceField$Key"},
                     {"transforms.key.renames", "id:person_id"},
                     {"transforms.origin.type", transform + "InsertField$Value"},
                     {"transforms.origin.timestamp.field", "seen"},
                     {"transforms.origin.topic.field", "origin"}});
  c.produce(R"({"id": 1})", R"({"mail": "ada@example.org", "email": "no column of the record"})");
  c.produce(R"({"id": 2})", R"({"mail": "bob@example.org"})");
  c.translate();
  c.run();
  CHECK(c.session.text("select string_agg(person_id || ' ' || email || ' ' || (origin = $1), ', ' order by person_id) "
                       "from person where abs(extract(epoch from seen - (now() at time zone 'UTC'))) < 3600",
                       {c.topic}) == "1 ada@example.org true, 2 bob@example.org true");
  c.settings.update({{"transforms", "mask"}, {"transforms.mask.type", transform + "MaskField$Value"}});
  c.translate();
  for (const char* const command : {"check", "run --until-idle"}) {
    CHECK_THROWS_WITH(run_shell(c.folder.path(), std::string{"inboxd --config inboxd.yaml "} + command),
                      ContainsSubstring("transforms.mask (org.") && ContainsSubstring("then delete this line"));
  }
}

TEST_CASE("an imported connector with values in Avro writes rows by the schemas of its registry") {
  Connected c;
  FakeRegistry registry;
  registry.add_schema(258, R"({"type":"record","name":"Order","fields":[{"name":"id","type":"long"},
    {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
    {"name":"note","type":["null","string"]},
    {"name":"placed_at","type":{"type":"long","logicalType":"timestamp-millis"}}]})");
  c.session.run("create table orders (id bigint primary key, amount numeric, note text, placed_at timestamptz);"
                "insert into orders values (1, 1, 'old')");
  c.settings.update({{"table.name.format", "orders"}, {"insert.mode", "upsert"}, {"pk.mode", "record_value"},
                     {"pk.fields", "id"}, {"value.converter", "io.confluent.connect.avro.AvroConverter"},
                     {"value.converter.schema.registry.url", registry.url()}});
  const auto order_bytes = [](std::int64_t id, const std::string& note) {
    return std::string{0, 0, 0, 1, 2} + number(id) + text({0, '\x96'}) +
           (note.empty() ? number(0) : number(1) + text(note)) + number(1'700'000'000'000);
  };
  c.produce(std::nullopt, order_bytes(1, "new"));
  c.produce(std::nullopt, order_bytes(2, ""));
  c.translate();
  CHECK_THAT(read_file(c.folder / "inboxd.yaml"), ContainsSubstring("value: {format: avro, registry: {url: "));
  c.run();
  c.session.run("set time zone 'UTC'");
  CHECK(c.rows("orders", "id") == "(1,1.50,new,\"2023-11-14 22:13:20+00\") (2,1.50,,\"2023-11-14 22:13:20+00\")");
}

TEST_CASE("import connect refuses an existing file and names a table or a database that is not there") {
  Connected c;
  c.settings["table.name.format"] = "nowhere";
  c.translate();
  CHECK_THAT(read_file(c.folder / "inboxd.yaml"), ContainsSubstring("the database has no table \"nowhere\""));
  CHECK_THROWS_WITH(run_shell(c.folder.path(), "inboxd import connect sink.json --out inboxd.yaml"),
                    ContainsSubstring("inboxd.yaml exists; pass --force"));
  const std::string elsewhere = "inboxd import connect sink.json --database postgresql://x@127.0.0.1:1/x";
  CHECK_THROWS_WITH(run_shell(c.folder.path(), elsewhere),
                    ContainsSubstring("not reached") && !ContainsSubstring("handlers:"));
}
