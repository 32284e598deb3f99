// Others see of the configuration only what is listed as harmless.
#include "config/exposure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/database_url.hpp"
#include "config/settings_table.hpp"
#include "config/show.hpp"
#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Gives every row a value with secrets, which begin with `hush`. A row whose texts are shown is noted instead.
class Filler final {
 public:
  template <class Owner>
  void fill(const std::vector<Row<Owner>>& rows, Owner& owner, const std::string& list) {
    for (const Row<Owner>& row : rows) {
      if (const auto value = value_for(row.about)) row.set(owner, *value);
      const bool is_text = row.about.type == Type::text || row.about.type == Type::texts;
      if (is_text && row.about.exposure == Exposure::whole) shown.push_back(list + row.about.key);
    }
  }

  Texts shown;
  int count = 0;  ///< of secrets

 private:
  std::string hush() { return "hush-" + std::to_string(1000 + count++); }

  std::string text_for(Exposure exposure) {
    const std::string query = "?sig=" + hush() + "&options=" + hush() + "&" + hush();
    if (exposure == Exposure::database) return "postgresql://app:" + hush() + "@db:5432/app" + query;
    if (exposure == Exposure::addresses) return "https://" + hush() + ":" + hush() + "@host:99/" + hush() + query;
    return hush();
  }

  std::optional<Value> value_for(const Description& about) {
    switch (about.type) {
      case Type::text:
        if (about.exposure == Exposure::whole) return std::nullopt;
        return text_for(about.exposure);
      case Type::texts:
        if (about.exposure == Exposure::whole) return std::nullopt;
        return Texts{text_for(about.exposure), text_for(about.exposure)};
      case Type::secret:
        return Secret{hush()};
      case Type::secrets:
        return Texts{hush(), hush()};
      case Type::properties:
        return TextMap{{"sasl.password", hush()},
                       {"sasl.username", hush()},
                       {"sasl.oauthbearer.extensions", "apikey=" + hush()},
                       {"sasl.oauthbearer.token.endpoint.url", text_for(Exposure::addresses)},
                       {"ssl.key.location", "/etc/key.pem"},
                       {"unknown.property", hush()},
                       {"session.timeout.ms", "6000"}};
      case Type::plugin_settings:
        return TextMap{{"anything", hush()}, {"list", "[\"" + hush() + "\", 1]"}, {"url", "https://h/" + hush()}};
      case Type::flag:
      case Type::number:
      case Type::fraction:
      case Type::duration:
      case Type::keep:
      case Type::size:
      case Type::start:
      case Type::choice:
      case Type::rules:  // classes of errors
        return std::nullopt;
    }
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("every text of the settings table is hidden, or listed here as harmless") {
  const Table table = settings_table();
  Filler filler;
  Loaded loaded = load(needed);
  filler.fill(table.settings, loaded.settings, "");
  filler.fill(table.topics, loaded.settings.topics[0], "topics[].");
  filler.fill(table.handlers, loaded.settings.handlers[0], "handlers[].");
  const Texts listed{
      "database.schema", "database.handler_role", "database.handler_search_path", "kafka.group", "kafka.instance_id",
      "kafka.namespace", "ingest.listen", "ingest.tls.certificate", "ingest.tls.key", "ingest.tls.client_ca",
      "outbox.topics", "outbox.id_header", "admin.listen", "admin.socket",
      "admin.actor_header.name", "admin.actor_header.from", "admin.hosts",
      "admin.tls.certificate", "admin.tls.key", "admin.tls.client_ca", "tracing.service", "topics[].name",
      "topics[].pattern", "topics[].exclude", "topics[].custom.id", "topics[].custom.type", "topics[].custom.source",
      "topics[].custom.subject", "topics[].custom.time", "topics[].deliver_at",
      "topics[].value.schema_file", "topics[].value.message", "topics[].value.registry.user",
      "topics[].value.registry.tls.ca", "topics[].value.registry.tls.certificate", "topics[].value.registry.tls.key",
      "topics[].key.schema_file", "topics[].key.message", "topics[].key.registry.user",
      "topics[].key.registry.tls.ca", "topics[].key.registry.tls.certificate", "topics[].key.registry.tls.key",
      "topics[].http.key", "topics[].http.headers", "handlers[].name",
      "handlers[].aliases", "handlers[].plugin",
      "handlers[].subscribe.topics", "handlers[].subscribe.types", "handlers[].order_by", "handlers[].batch.cron",
      "handlers[].batch.time_zone", "handlers[].dead_letters.topic", "handlers[].rate"};
  CHECK(filler.shown == listed);

  const std::string text = show_text(loaded);
  for (const std::string& shown : {text, show_json(loaded)}) CHECK_THAT(shown, !ContainsSubstring("hush"));
  CHECK_THAT(text, ContainsSubstring("postgresql://app@db:5432/app?sig=********&options=********&********"));
  CHECK_THAT(text, ContainsSubstring("https://********@host:99/********"));
  CHECK_THAT(text, ContainsSubstring("kafka.properties.ssl.key.location: /etc/key.pem") &&
                       ContainsSubstring("kafka.properties.session.timeout.ms: 6000"));

  std::string said;
  for (int i = 0; i < filler.count; ++i) said += "refused: 'hush-" + std::to_string(1000 + i) + "'\n";
  CHECK(filler.count > 30);
  CHECK_THAT(without_texts(said, hidden_texts(loaded)), !ContainsSubstring("hush"));
}

TEST_CASE("of a connection string only harmless parameters are shown") {
  const auto shown = [](const std::string& url) {
    return shown_database_url(url, [](const std::string&) { return std::string{"*"}; });
  };
  CHECK(shown("host=db user=app options='-c app.key=hush' sslmode=require") ==
        "host=db user=app options=* sslmode=require");
  CHECK(shown("host=db passfile = /hush") == "host=db passfile=*");
  CHECK(shown("dbname='password=hush' host=db") == "dbname=* host=db");
  CHECK(shown("postgresql://app@a:1,b:2/app?sslmode=verify-full&%6fptions=hush") ==
        "postgresql://app@a:1,b:2/app?sslmode=verify-full&%6fptions=*");
  CHECK(shown("postgresql://app@db/app") == "postgresql://app@db/app");
  CHECK(shown("hush") == "*");
}

TEST_CASE("of an address its scheme, host and port are shown") {
  const auto shown = [](const std::string& text) {
    const Secrets none;
    return Hider{none}.entry(Exposure::addresses, text, "url");
  };
  const std::string brokers = "kafka-1:9092, SASL_SSL://kafka-2:9092,[::1]:9094";
  CHECK(shown(brokers) == brokers);
  CHECK(shown("https://hooks.example.com/services/T0/hush") == "https://hooks.example.com/********");
  CHECK(shown("https://hush@crm:8443/") == "https://********@crm:8443/");
  CHECK(shown("http://crm/?sig=a,hush") == "http://crm/********");
  CHECK(shown("https://me:hush/word@crm/") == "https://********");
  CHECK(shown("https://crm:hush/") == "https://********");
  CHECK(shown("hush@crm") == "********");
}

TEST_CASE("hidden texts are searched for; not names that are shown elsewhere, and short words as a whole only") {
  const auto loaded =
      load(needed + "    settings: {a: orders, b: inboxd, c: Bearer token-of-crm, d: hush, e: 1234}\n");
  REQUIRE(loaded.ok());
  const Texts hides = hidden_texts(loaded);
  CHECK(without_texts("orders inboxd 1234 token-of-crm", hides) == "orders inboxd 1234 ********");
  CHECK(without_texts("hush, hushed: 'Bearer token-of-crm'", hides) == "********, hushed: '********'");
}

TEST_CASE("the names of a statement are kept in other texts, its literals are not") {
  const Secrets none;
  const auto hides = [&](const std::string& statement) {
    Hider hider{none};
    CHECK(hider.entry(exposure_of_setting("sql", "statement"), statement, "settings.statement") == "********");
    return hider.hidden_texts();
  };
  const std::string text = "inboxd_partitions received_at secret-of-crm";
  CHECK(without_texts(text, hides("select received_at, partition from events where 'secret-of-crm' <> key")) ==
        "inboxd_partitions received_at ********");
  CHECK(without_texts(text, hides("select received_at, partition, $$secret-of-crm$$ from events")) ==
        "inboxd_********s ******** ********");
}

TEST_CASE("a literal of a statement is searched for wherever quotes are uncertain, and so is a long number") {
  const Secrets none;
  const std::string text = "inboxd_partitions secretofcrm 4711471147";
  const auto shown_beside = [&](const std::string& statement) {
    Hider hider{none};
    hider.entry(exposure_of_setting("sql", "statement"), statement, "settings.statement");
    return without_texts(text, hider.hidden_texts());
  };
  CHECK(shown_beside("select 1 where pin = 4711471147") == "inboxd_partitions secretofcrm ********");
  for (const char* const statement :
       {"-- don't\nselect 'secretofcrm'", "/* don't */ select 'secretofcrm'", "select E'it\\'s', 'secretofcrm'",
        "select \"o'clock\", 'secretofcrm'"}) {
    CAPTURE(statement);
    CHECK(shown_beside(statement) == "inboxd_partitions ******** 4711471147");
  }
}
