// A folder of connectors' files, and the configurations that they become.
#include "cli/import_connector.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/load.hpp"

using namespace inboxd;
using namespace inboxd::cli;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string text_in(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream{file, std::ios::binary}.rdbuf();
  return out.str();
}

std::vector<std::filesystem::path> connector_files() {
  std::set<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator{CONNECTORS}) {
    if (entry.path().extension() == ".json") out.insert(entry.path());
  }
  return {out.begin(), out.end()};
}

base::Result<Imported> imported(const std::string& json, const ImportOptions& options = {}) {
  auto connector = Connector::read(json);
  if (!connector) return connector.problem();
  return import_connector(std::move(connector).value(), options);
}

/// A connector with these settings in JSON, on a local database.
std::string connector_with(const std::string& settings) {
  return R"({"connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "name": "c", "topics": "orders",
             "connection.url": "jdbc:postgresql://localhost/app", )" + settings + "}";
}

std::string problem_of(const std::string& json) {
  const auto result = imported(json);
  REQUIRE_FALSE(result.ok());
  return result.problem().message;
}

/// As a person edits it who has done all that the marks ask for.
std::string without_marks(const std::string& yaml) {
  std::istringstream lines{yaml};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("-- inboxd:todo ") == std::string::npos) out += line + "\n";
  }
  return out;
}

config::Loaded loaded(const std::string& yaml) {
  config::Environment offline = config::process_environment(true, {});
  return config::load_text(yaml, "imported.yaml", offline);
}

}  // namespace

TEST_CASE("each connector's file becomes the configuration beside it, which is valid", "[generated]") {
  REQUIRE(connector_files().size() >= 8);
  for (const auto& file : connector_files()) {
    const auto result = imported(text_in(file));
    INFO(file.filename() << (result ? "" : ": " + result.problem().message));
    REQUIRE(result.ok());
    auto wanted = file;
    wanted.replace_extension(".yaml");
    if (std::getenv("UPDATE_GENERATED") != nullptr) {
      std::ofstream{wanted, std::ios::binary} << result.value().yaml;
    }
    CHECK(result.value().yaml == text_in(wanted));
    const auto configuration = loaded(without_marks(result.value().yaml));
    for (const auto& problem : configuration.problems) FAIL_CHECK(problem.text());
    for (const char* const secret : {"s3cret", "hidden-in-url", "/opt/secrets"}) {
      CHECK_THAT(result.value().yaml, !ContainsSubstring(secret));
    }
  }
}

TEST_CASE("every setting of a connector is translated or listed with a remedy, without its value") {
  const auto result = imported(connector_with(R"("surprise": "secret-value", "tasks.max": "7")"));
  REQUIRE(result.ok());
  const auto list = result.value().yaml.substr(result.value().yaml.find("# Not translated:"));
  CHECK_THAT(list, ContainsSubstring("* surprise: inboxd has no such setting"));
  CHECK_THAT(list, ContainsSubstring("# Nothing to do about:\n# * tasks.max: "));
  CHECK_THAT(result.value().yaml, !ContainsSubstring("secret-value"));
  CHECK(std::ranges::none_of(result.value().remarks,
                             [](const auto& remark) { return remark.find("tasks.max") != std::string::npos; }));
}

TEST_CASE("a configuration is refused until a person has dealt with each transform that is not translated") {
  const auto result = imported(connector_with(
      R"("pk.mode": "none", "fields.whitelist": "id", "transforms": "mask,old,paid,case",
         "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value", "transforms.mask.fields": "id",
         "transforms.old.type": "org.apache.kafka.connect.transforms.Filter", "transforms.old.predicate": "isOld",
         "transforms.old.negate": "true", "predicates": "isOld", "predicates.isOld.type": "com.example.IsOld",
         "transforms.paid.type": "org.apache.kafka.connect.transforms.Filter", "transforms.paid.predicate": "gone",
         "predicates.gone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
         "transforms.case.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value")"));
  REQUIRE(result.ok());
  const auto marked = loaded(result.value().yaml);
  REQUIRE(marked.problems.size() == 2);
  CHECK_THAT(marked.problems[0].text(), ContainsSubstring("handlers[0].settings.statement: transforms.mask (org.") &&
                                            ContainsSubstring("then delete this line"));
  CHECK_THAT(marked.problems[1].text(), ContainsSubstring("transforms.old") && ContainsSubstring("com.example.IsOld"));
  CHECK(loaded(without_marks(result.value().yaml)).ok());
  const auto named = [&](const char* text) {
    return std::ranges::count_if(result.value().remarks,
                                 [&](const auto& remark) { return remark.find(text) != std::string::npos; });
  };
  CHECK(named("isOld") == 1);  // one remark for a filter with its predicate
  CHECK(named("gone") + named("SetSchemaMetadata") == 0);
}

TEST_CASE("fields that transforms drop are no columns, and columns that the table lacks are in the to-do list") {
  ImportOptions options;
  options.find_columns = [](const std::string&) {
    return std::optional{std::vector<WrittenColumn>{{"id", "bigint", true, "id"},
                                                    {"email", "text", false, "email"},
                                                    {"mail", "text", false, "mail"},
                                                    {"hidden", "text", false, "hidden"},
                                                    {"seen", "timestamp without time zone", false, "seen"}}};
  };
  const std::string transforms =
      R"("pk.mode": "record_value", "pk.fields": "nr", "insert.mode": "upsert", "db.timezone": "Europe/Berlin",
         "transforms": "ren,cut", "transforms.ren.type": "a.ReplaceField$Value",
         "transforms.ren.renames": "mail:email,number:nr", "transforms.cut.type": "a.ReplaceField$Value",
         "transforms.cut.exclude": "hidden")";
  const auto result = imported(connector_with(transforms), options);
  REQUIRE(result.ok());
  CHECK_THAT(result.value().yaml, ContainsSubstring("'nr', e.body->'number'") &&
                                      ContainsSubstring("'email', e.body->'mail'") &&
                                      ContainsSubstring("at time zone 'Europe/Berlin'") &&
                                      !ContainsSubstring("'mail', ") && !ContainsSubstring("\"hidden\"") &&
                                      ContainsSubstring("pk.fields: table \"orders\" has no column \"nr\""));
  const auto listed = imported(connector_with(R"("pk.mode": "none", "fields.whitelist": "email,nosuch")"), options);
  REQUIRE(listed.ok());
  CHECK_THAT(listed.value().yaml, ContainsSubstring("fields.whitelist: table \"orders\" has no column \"nosuch\""));
}

TEST_CASE("advice on the consumer's properties names only properties that a configuration may have") {
  const auto remedy = [](const char* name) {
    const auto result = imported(connector_with(std::string{R"("pk.mode": "none", "consumer.override.)"} + name +
                                                R"(": "1")"));
    REQUIRE(result.ok());
    const auto at = result.value().yaml.find(std::string{"consumer.override."} + name);
    return at == std::string::npos ? "" : result.value().yaml.substr(at);
  };
  CHECK_THAT(remedy("max.poll.records"), ContainsSubstring("max.poll.records: ingest.batch_events bounds"));
  CHECK_THAT(remedy("group.instance.id"), ContainsSubstring("use kafka.instance_id"));
  CHECK_THAT(remedy("enable.auto.commit"), !ContainsSubstring("write it into"));
  CHECK_THAT(remedy("client.rack"), ContainsSubstring("write it into kafka.properties"));
  CHECK_THAT(remedy("no.such.thing"), ContainsSubstring("librdkafka has no such property"));
  CHECK(remedy("auto.offset.reset").empty());
}

TEST_CASE("the columns come from the table, its primary key and times included, if a database is named") {
  ImportOptions options;
  options.database_url = "postgresql://app@localhost/app";
  options.brokers = "kafka:9092";
  options.find_columns = [](const std::string& table) -> std::optional<std::vector<WrittenColumn>> {
    if (table != "\"orders\"") return std::nullopt;
    return std::vector<WrittenColumn>{{"note", "text", false, "note"},
                                      {"id", "bigint", true, "id"},
                                      {"at", "timestamp with time zone", false, "at"},
                                      {"day", "date", false, "day"},
                                      {"photo", "bytea", false, "photo"}};
  };
  const auto result = imported(connector_with(R"("insert.mode": "upsert", "pk.mode": "record_value")"), options);
  REQUIRE(result.ok());
  const std::string& yaml = result.value().yaml;
  CHECK_THAT(yaml, ContainsSubstring(R"(insert into "orders" ("id", "note", "at", "day", "photo"))") &&
                       ContainsSubstring("to_timestamp((e.body->'at')::float8 / 1e3)") &&
                       ContainsSubstring("date '1970-01-01' + (e.body->'day')::int") &&
                       ContainsSubstring("decode(e.body->'photo'#>>'{}', 'base64')") &&
                       ContainsSubstring("'note', e.body->'note'") && ContainsSubstring("kafka:9092"));
  CHECK_THAT(yaml, !ContainsSubstring("COLUMN"));
  CHECK(loaded(yaml).ok());
}

TEST_CASE("a table with more columns than a function has arguments is written in several objects") {
  ImportOptions options;
  options.find_columns = [](const std::string&) {
    std::vector<WrittenColumn> out;
    for (int i = 0; i < 120; ++i) out.push_back({"c" + std::to_string(i), "text", false, "c" + std::to_string(i)});
    return std::optional{out};
  };
  const auto result = imported(connector_with(R"("pk.mode": "none")"), options);
  REQUIRE(result.ok());
  std::size_t objects = 0;
  for (auto at = result.value().yaml.find("jsonb_build_object("); at != std::string::npos;
       at = result.value().yaml.find("jsonb_build_object(", at + 1)) {
    ++objects;
  }
  CHECK(objects == 3);
}

TEST_CASE("names with quotes and dollars stay names") {
  ImportOptions options;
  options.find_columns = [](const std::string&) {
    return std::optional{std::vector<WrittenColumn>{{"o'k\"${HOME}", "text", false, "o'k\"${HOME}"}}};
  };
  const auto result = imported(connector_with(R"("pk.mode": "none")"), options);
  REQUIRE(result.ok());
  const auto configuration = loaded(result.value().yaml);
  REQUIRE(configuration.ok());
  CHECK_THAT(configuration.settings.handlers.at(0).settings.at("statement"),
             ContainsSubstring(R"('o''k"${HOME}', e.body->'o''k"${HOME}')") && ContainsSubstring(R"("o'k""${HOME}")"));
}

TEST_CASE("a connector that inboxd cannot replace is refused with the remedy") {
  CHECK_THAT(problem_of("[]"), ContainsSubstring("not a JSON object"));
  CHECK_THAT(problem_of("{}"), ContainsSubstring("there is no connector.class"));
  CHECK_THAT(problem_of(R"({"connector.class": "io.example.S3Sink"})"),
             ContainsSubstring("\"io.example.S3Sink\" is not known") && ContainsSubstring("io.aiven"));
  CHECK_THAT(problem_of(connector_with(R"("connection.url": "jdbc:mysql://hush@h/d")")),
             ContainsSubstring("PostgreSQL only") && !ContainsSubstring("hush"));
  CHECK_THAT(problem_of(connector_with(R"("topics": "")")), ContainsSubstring("neither topics nor topics.regex"));
  CHECK_THAT(problem_of(connector_with(R"("topics.regex": "a.*")")), ContainsSubstring("a statement has one table"));
  CHECK_THAT(problem_of(connector_with(R"("topics.regex": "a\\d+", "table.name.format": "t")")),
             ContainsSubstring("\\d is not part of POSIX"));
  CHECK_THAT(problem_of(connector_with(R"("insert.mode": "upsert")")), ContainsSubstring("needs a primary key"));
  CHECK_THAT(problem_of(connector_with(R"("insert.mode": "merge")")),
             ContainsSubstring("insert.mode is \"merge\", none of insert"));
  CHECK_THAT(problem_of(connector_with(R"("pk.mode": "record_header")")),
             ContainsSubstring("pk.mode is \"record_header\", none of"));
  CHECK_THAT(problem_of(connector_with(R"("pk.mode": "record_value", "delete.enabled": "true")")),
             ContainsSubstring("delete.enabled needs pk.mode record_key"));
  CHECK_THAT(problem_of(connector_with(R"("transforms": "r", "transforms.r.type": "a.RegexRouter",
                                          "transforms.r.regex": "(")")),
             ContainsSubstring("transforms.r.regex cannot be read"));
  CHECK_THAT(problem_of(connector_with(R"("pk.fields": ["id"])")), ContainsSubstring("is not a text, number"));
}

TEST_CASE("a table in the URL's currentSchema is looked up there, and an insert with deletes runs one by one") {
  ImportOptions options;
  options.database_url = "postgresql://app@localhost/app";
  std::string asked;
  options.find_columns = [&](const std::string& table) {
    asked = table;
    return std::optional{std::vector<WrittenColumn>{{"id", "bigint", true, "id"}}};
  };
  const auto result = imported(
      connector_with(R"("connection.url": "jdbc:postgresql://h/d?currentSchema=sales", "pk.mode": "record_key",
                        "delete.enabled": "true")"),
      options);
  REQUIRE(result.ok());
  CHECK(asked == R"("sales"."orders")");
  CHECK_THAT(result.value().yaml, ContainsSubstring("handler_search_path: sales") &&
                                      ContainsSubstring("events_per_call: 1\n") &&
                                      ContainsSubstring("postgresql://app@localhost/app"));
}
