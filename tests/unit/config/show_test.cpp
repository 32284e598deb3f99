#include "config/show.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "config/settings_table.hpp"
#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

Loaded example() {
  return load(needed + R"(    retry: {base: 3s}
    settings: {level: info}
handler_defaults: {lease: 5s}
ingest:
  batch_events: 5
)");
}

}  // namespace

TEST_CASE("config show has a line for each key, with its value and origin") {
  const std::string text = show_text(example());
  const auto line = [&](const std::string& begin) {
    const std::size_t at = text.find("\n" + begin + ": ");
    REQUIRE(at != std::string::npos);
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  CHECK_THAT(text, ContainsSubstring("database.url: postgresql://app@localhost/app"));
  CHECK_THAT(line("ingest.batch_events"),
             ContainsSubstring("ingest.batch_events: 5  ") && ContainsSubstring("# inboxd.yaml:13"));
  CHECK_THAT(line("ingest.batch_bytes"), ContainsSubstring(": 8MiB ") && ContainsSubstring("# default"));
  CHECK_THAT(line("handlers[0].retry.base"), ContainsSubstring(": 3s ") && ContainsSubstring("# inboxd.yaml:9"));
  CHECK_THAT(line("handlers[0].lease"),
             ContainsSubstring(": 5s ") && ContainsSubstring("# handler_defaults inboxd.yaml:11"));
  CHECK_THAT(line("handlers[0].start"), ContainsSubstring(": now "));
  CHECK_THAT(line("handlers[0].settings.level"), ContainsSubstring(": info ") && ContainsSubstring("# inboxd.yaml:10"));
  CHECK_THAT(line("kafka.instance_id"), ContainsSubstring(": none "));
  CHECK_THAT(line("retention.dead_letters"), ContainsSubstring(": forever "));
  CHECK_THAT(line("log.format"), ContainsSubstring(": auto "));
}

TEST_CASE("config show has the effective retry.cap if only retry.base is written") {
  CHECK_THAT(show_text(load(needed + "    retry: {base: 1h}\n")), ContainsSubstring("handlers[0].retry.cap: 1h "));
}

TEST_CASE("config show has the same as JSON, with types") {
  const auto document = nlohmann::json::parse(show_json(example()));
  CHECK(document.at("file") == "inboxd.yaml");
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : document.at("settings")) rows[row.at("key")] = row;
  CHECK(rows.at("ingest.batch_events") ==
        nlohmann::json::parse(R"({"key": "ingest.batch_events", "value": 5, "text": "5",
    "origin": "file", "line": 13, "column": 3})"));
  CHECK(rows.at("database.prepare").at("value") == true);
  CHECK(rows.at("database.deadline").at("value") == "30s");
  CHECK(rows.at("handlers[0].retry.jitter").at("value") == 0.2);
  CHECK(rows.at("handlers[0].subscribe.topics").at("value") == nlohmann::json::array({"orders"}));
  CHECK(rows.at("handlers[0].lease").at("origin") == "handler_defaults");
  CHECK(rows.at("kafka.namespace").at("value").is_null());
  const Table table = settings_table();
  CHECK(rows.size() == table.settings.size() + table.topics.size() + table.handlers.size());
}

TEST_CASE("of a plugin's own settings numbers are shown as written, texts and likely secrets are hidden") {
  const auto loaded = load(needed + R"(    settings:
      auth: {user: me, password: hush-1, headers: [{Authorization: hush-2}, {from: "https://me:hush-3@host/"}]}
      dsn: hush-4
      pin_token: 4711
      folder: /hush-5
      every: 5s
      template: '{ "a":  1 }'
)");
  REQUIRE(loaded.ok());
  for (const std::string& shown : {show_text(loaded), show_json(loaded)}) {
    CHECK_THAT(shown, !ContainsSubstring("hush"));
    CHECK_THAT(shown, !ContainsSubstring("4711"));
    CHECK_THAT(shown, ContainsSubstring("5s"));
  }
  CHECK_THAT(show_json(loaded), ContainsSubstring(R"("value": "{ \"a\":  1 }")"));
}
