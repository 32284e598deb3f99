#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// The running daemon's value of a key; null if there is no such key.
json in_force(const ConfigText& config, const std::string& key) {
  const auto shown = command(config, {"config", "show", "--running", "--json"});
  INFO(shown.err);
  REQUIRE(shown.status == ExitStatus{0, 0});
  const auto document = json::parse(shown.out);
  for (const auto& setting : document.at("settings")) {
    if (setting.at("key") == key) return setting;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("the running configuration is the loaded file, plus the keys that a reload can change") {
  AdminFixture admin{1, ", read_token: " + read_token};
  const auto daemon = admin.start();
  const auto group = in_force(admin.config, "kafka.group");
  CHECK(group.at("origin") == "file");
  CHECK(in_force(admin.config, "handlers[0].concurrency").at("origin") == "handler_defaults");

  auto changed = admin.config;
  changed.group = "another";
  changed.handlers[0].more = {"concurrency: 3"};
  daemon->write_config("# a line more\n" + changed.text());
  CHECK(in_force(admin.config, "handlers[0].concurrency").at("origin") == "handler_defaults");
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  wait_until("it is in force", [&] { return in_force(admin.config, "handlers[0].concurrency").at("value") == 3; });
  CHECK(in_force(admin.config, "kafka.group") == group);  // needs a restart

  const auto shown = command(admin.config, {"config", "show", "--running"});
  CHECK(shown.status == ExitStatus{0, 0});
  CHECK_THAT(shown.out, ContainsSubstring("handlers[0].concurrency: 3") && ContainsSubstring("inboxd.yaml:") &&
                            ContainsSubstring("admin.token: ********") &&
                            ContainsSubstring("admin.read_token: ********"));
  CHECK_THAT(shown.out + shown.err, !ContainsSubstring(token) && !ContainsSubstring(read_token));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"config", "show"}, {"check"}}) {
    const auto finished = command(admin.config, arguments);
    CHECK_THAT(finished.out + finished.err, !ContainsSubstring(token) && !ContainsSubstring(read_token));
  }
}

TEST_CASE("a fresh daemon's running configuration is its file; secrets are hidden, also in plugin settings") {
  AdminFixture admin;
  admin.config.handlers[0].settings["gate"] =
      "{url: 'https://me:hush-1@host/', headers: [{authorization: hush-2}], n: [1]}";
  const auto daemon = admin.start();
  const auto without_places = [](std::string text) {
    for (auto at = text.find("# "); at != std::string::npos; at = text.find("# ", at + 2)) {
      const auto end = text.find('\n', at);
      const auto colon = text.rfind('/', end);
      if (colon != std::string::npos && colon > at) text.erase(at, colon - at);
    }
    return text;
  };
  const auto file = command(admin.config, {"config", "show"});
  const auto running = command(admin.config, {"config", "show", "--running"});
  CHECK(file.status == ExitStatus{0, 0});
  CHECK(without_places(file.out) == without_places(running.out));
  CHECK_THAT(file.out, ContainsSubstring("handlers[0].settings.gate: ") && !ContainsSubstring("hush"));
  const auto served = get(admin.port, "/v1/config/show", with_token);
  CHECK_THAT(served.body, ContainsSubstring("settings.gate") && !ContainsSubstring("hush"));
}

TEST_CASE("check --running reports the daemon's own checks of database, brokers and topics") {
  AdminFixture admin;
  admin.config.topics.push_back("{name: nowhere-to-be-found}");
  const auto daemon = admin.start();
  const auto found = command(admin.config, {"check", "--running"});
  INFO(found.out << found.err);
  CHECK(found.status == ExitStatus{1, 0});
  CHECK_THAT(found.out, ContainsSubstring("ok  database: PostgreSQL") && ContainsSubstring("ok  brokers") &&
                            ContainsSubstring("ok  topic " + admin.topic) &&
                            ContainsSubstring("problem  topic nowhere-to-be-found"));
  const auto both = command(admin.config, {"check", "--running", "--offline"});
  CHECK(both.status == ExitStatus{64, 0});
  daemon->stop();
  CHECK(command(admin.config, {"check", "--running"}).status == ExitStatus{69, 0});
}

TEST_CASE("reading the configuration, and long reads, need the token") {
  AdminFixture admin;
  {
    const auto daemon = admin.start();
    for (const std::string path : {"/v1/config/show", "/v1/check", "/v1/events/list", "/v1/events/show?id=x",
                                   "/v1/events/trace?id=x", "/v1/dead/list", "/v1/quarantine/list"}) {
      CAPTURE(path);
      CHECK(get(admin.port, path).status == 401);
      CHECK(ask(admin.port, {.method = "HEAD", .target = path}).status == 401);
      CHECK(get(admin.port, path, with_token).status == (path.ends_with("?id=x") ? 404 : 200));
    }
    CHECK(get(admin.port, "/v1/config/schema").status == 200);
    const auto migrations = get(admin.port, "/v1/migrate");
    CHECK(migrations.status == 200);
    CHECK(json::parse(migrations.body).at("due").empty());
    CHECK(daemon->stop() == ExitStatus{0, 0});
  }
  admin.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin.port) + "'";
  const auto without = admin.start();
  CHECK(get(admin.port, "/v1/config/show").status == 403);
  const auto refused = command(admin.config, {"config", "show", "--running"});
  CHECK(refused.status == ExitStatus{77, 0});
  CHECK_THAT(refused.err, ContainsSubstring("admin.token"));
}

TEST_CASE("a reload that changes retention changes the days left in status --sizes") {
  AdminFixture admin;
  const auto daemon = admin.start();
  admin.fixture.produce(1);
  CHECK(admin.fixture.wait_done().is_perfect());
  const auto days_left = [&] {
    return json::parse(get(admin.port, "/v1/status?sizes=true", with_token).body)
        .at("sizes")
        .at("growth")
        .at(0)
        .at("days_left")
        .get<double>();
  };
  CHECK(days_left() > 29);
  auto changed = admin.config;
  changed.sections["retention"] = "events: 7d";
  daemon->write_config(changed.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  wait_until("it is in force", [&] { return days_left() < 9; });
}
