// The settings of shipped handlers of which others see texts.
#include "config/exposure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "config/show.hpp"
#include "handlers/exec/settings.hpp"
#include "handlers/http/settings.hpp"
#include "handlers/kafka/settings.hpp"
#include "handlers/log/settings.hpp"
#include "handlers/sql/settings.hpp"

using namespace inboxd::config;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A secret in each shape that a setting may have.
const std::vector<std::string> shapes{
    "hush-hush-1",
    R"(["program", "--pass", "hush-hush-1", "Authorization: Bearer hush-hush-2", "https://hush-hush-3@host/"])",
    R"(["program", "http://host/ https://me:hush-hush-1@host/?sig=hush-hush-2"])",
    R"({"X-Auth": "hush-hush-1", "X-Custom": "Basic hush-hush-2", "DB_PW": "hush-hush-3"})",
    R"({"path": "/hush-hush-1", "inner": [{"sasl.password": "hush-hush-2"}, "hush-hush-3"]})",
    R"({"sasl.oauthbearer.extensions": "apikey=hush-hush-1", "bootstrap.servers": "https://hush-hush-2@kafka:9092"})",
    "https://me:hush-hush-1@host/in/hush-hush-2?sig=hush-hush-3&api_key=hush-hush-1#hush-hush-2",
};

template <std::size_t count>
void check(const std::string& plugin, const handlers::SettingsTable<count>& table, Texts& shown_whole) {
  for (const handlers::Setting& setting : table.rows) {
    if (exposure_of_setting(plugin, setting.name) == Exposure::whole) {
      shown_whole.push_back(plugin + "." + setting.name);
      continue;
    }
    for (const std::string& shape : shapes) {
      // An address without scheme is a host's name.
      if (exposure_of_setting(plugin, setting.name) == Exposure::addresses && !shape.starts_with("http")) continue;
      CAPTURE(plugin, setting.name, shape);
      Loaded loaded;
      loaded.settings.handlers.emplace_back();
      loaded.settings.handlers[0].plugin = plugin;
      loaded.settings.handlers[0].settings[setting.name] = shape;
      CHECK_THAT(show_text(loaded), !ContainsSubstring("hush"));
      CHECK_THAT(show_json(loaded), !ContainsSubstring("hush"));
      for (const std::string secret : {"hush-hush-1", "hush-hush-2", "hush-hush-3"}) {
        const bool is_used = shape.find(secret) != std::string::npos;
        CHECK((without_texts("refused: " + secret, hidden_texts(loaded)) == "refused: ********") == is_used);
      }
    }
  }
}

}  // namespace

TEST_CASE("every text of a shipped handler's settings is hidden, or listed here as harmless") {
  Texts shown;
  check("exec", exec_handler::table, shown);
  check("http", http_handler::table, shown);
  check("kafka", kafka_handler::table, shown);
  check("log", log_handler::table, shown);
  check("sql", sql_handler::table, shown);
  const Texts listed{"exec.mode",   "exec.folder",    "exec.user",           "http.style",
                     "http.retry_after", "http.unix_socket", "http.ca", "http.certificate", "http.certificate_key",
                     "kafka.topic", "kafka.topics_allowed", "kafka.headers", "log.level", "sql.function",
                     "sql.permanent", "sql.body"};
  CHECK(shown == listed);
}

TEST_CASE("a handler's program and address are shown without arguments, users, paths and queries") {
  const Secrets none;
  Hider hider{none};
  const auto shown = [&](const std::string& plugin, const std::string& name, const std::string& text) {
    return hider.entry(exposure_of_setting(plugin, name), text, "settings." + name);
  };
  CHECK(shown("exec", "command", R"(["python3","/opt/mailer.py"])") == R"(["python3","********"])");
  CHECK(shown("exec", "environment", R"({"PIN":1234})") == R"({"PIN":"********"})");
  CHECK(shown("exec", "nice", "5") == "5");
  CHECK(shown("http", "permanent", "[400, 422]") == "[400, 422]");
  CHECK(shown("http", "health", R"({"path":"/x","every":"5s","failures":3})") ==
        R"({"path":"********","every":"5s","failures":3})");
  CHECK(shown("kafka", "properties", R"({"linger.ms":2,"security.protocol":"ssl","ssl.key.pem":"x"})") ==
        R"({"linger.ms":2,"security.protocol":"ssl","ssl.key.pem":"********"})");
}
