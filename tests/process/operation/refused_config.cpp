#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string good =
    "database:\n  url: postgresql://nobody@127.0.0.1:1/none\n"
    "kafka:\n  brokers: localhost:1\n  group: g\n"
    "topics:\n  - name: orders\n"
    "handlers:\n  - name: first\n    plugin: log\n    subscribe: {topics: [orders]}\n";

/// The message of `run` for a file that is refused before anything is touched.
std::string refused(const std::string& config) {
  std::string path;
  const auto finished = command_with_file(config, {"run"}, &path);
  INFO(finished.out << finished.err);
  CHECK(finished.status == ExitStatus{78, 0});
  std::string text = finished.err;
  for (auto at = text.find(path); at != std::string::npos; at = text.find(path)) text.replace(at, path.size(), "FILE");
  return text;
}

}  // namespace

TEST_CASE("a time zone whose file lacks its future changes is refused with the remedy") {
  if (geteuid() != 0) SKIP("a mount needs root");
  const TempFolder folder;
  write_file(folder / "rules",
             "Rule US 2007 max - Mar Sun>=8 2:00 1:00 D\nRule US 2007 max - Nov Sun>=1 2:00 0 S\n"
             "Zone Test/Zone -5:00 US E%sT\n");
  DaemonFixture fixture{1};
  fixture.config.handlers[0].more = {"mode: batch", "batch: {cron: '0 6 1 1 *', time_zone: Test/Zone}"};
  write_file(folder / "inboxd.yaml", fixture.config.text());
  const auto check = [&](const std::string& kind) {
    const std::string zones = folder / kind;
    REQUIRE(run_to_end({{"zic", "-b", kind, "-d", zones, folder / "rules"}}).status == ExitStatus{0, 0});
    return run_to_end({{"unshare", "--mount", "sh", "-c",
                        "mount --bind " + zones + " /usr/share/zoneinfo && exec " + daemon_program() + " --config " +
                            (folder / "inboxd.yaml").string() + " check --offline"}});
  };
  const auto slim = check("slim");
  CHECK(slim.status == ExitStatus{78, 0});
  CHECK_THAT(slim.out, ContainsSubstring("lacks its future changes") && ContainsSubstring("zic -b fat"));
  CHECK(check("fat").status == ExitStatus{0, 0});
}

// fault: unknown key
TEST_CASE("an unknown key is refused with its place and a suggestion") {
  const auto text = refused(good + "ingest:\n  conections: 2\n");
  CHECK_THAT(text, ContainsSubstring("FILE:13:3: ingest.conections"));
  CHECK_THAT(text, ContainsSubstring("did you mean connections?"));
}

// fault: dangerous librdkafka key
TEST_CASE("properties that load code, are test hooks or belong to the daemon are refused by name and reason") {
  for (const std::string property :
       {"plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.location", "test.mock.num.brokers",
        "enable.auto.commit", "auto.offset.reset", "group.id", "PLUGIN.Library.Paths"}) {
    auto config = good;
    config.replace(config.find("  group: g\n"), 11, "  group: g\n  properties:\n    " + property + ": x\n");
    const auto text = refused(config);
    INFO(property << ": " << text);
    CHECK_THAT(text, ContainsSubstring("FILE:7:5:"));
    CHECK_THAT(text, ContainsSubstring(property));
    CHECK_THAT(text, ContainsSubstring("may not be set"));
  }
}

TEST_CASE(
    "properties that the client library refuses are reported at once, with all other problems, before any action") {
  DaemonFixture fixture{1};
  fixture.config.kafka["sesion.timeout.ms"] = "6000";
  fixture.config.kafka["session.timeout.ms"] = "abc";
  const bool is_more_wrong = GENERATE(false, true);
  if (is_more_wrong) fixture.config.sections["dispatch"] = "pol: 50ms";
  for (const std::vector<std::string>& what :
       {std::vector<std::string>{"check", "--offline"}, {"check"}, {"run", "--migrate"}, {"config", "show"}}) {
    const auto finished = command(fixture.config, what);
    const std::string text = finished.out + finished.err;
    INFO(what.front() << ": " << text);
    CHECK(finished.status == ExitStatus{78, 0});
    CHECK_THAT(text, ContainsSubstring("inboxd.yaml:9:5: kafka.properties.sesion.timeout.ms: librdkafka "));
    CHECK_THAT(text, ContainsSubstring("did you mean session.timeout.ms?"));
    CHECK_THAT(text, ContainsSubstring("inboxd.yaml:10:25: kafka.properties.session.timeout.ms: "));
    CHECK_THAT(text, ContainsSubstring("it takes 1 .. 3600000"));
    CHECK((text.find("dispatch.pol: unknown key") != std::string::npos) == is_more_wrong);
    CHECK(std::count(text.begin(), text.end(), '\n') == (is_more_wrong ? 3 : 2));
  }
  const auto made = "select count(*) from pg_namespace where nspname = '" + fixture.database.schema() + "'";
  CHECK(fixture.database.session().number(made) == 0);
}

TEST_CASE("check reports missing topics, missing plugins and unreachable brokers together") {
  DaemonFixture fixture{1};
  auto wrong = fixture.config;
  const auto schema = command(wrong, {"check"});
  CHECK(schema.status == ExitStatus{1, 0});
  CHECK_THAT(schema.out, ContainsSubstring("inboxd migrate"));
  fixture.migrate();
  const auto misspelt = fixture.topic + "s";
  wrong.topics = {"{name: " + fixture.topic + "}", "{name: nowhere-to-be-found}", "{name: " + misspelt + "}"};
  wrong.handlers[0].plugin = "/nowhere/greeter.so";
  const auto checked = command(wrong, {"check"});
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.out, ContainsSubstring("ok  topic " + fixture.topic));
  CHECK_THAT(checked.out, ContainsSubstring("problem  topic nowhere-to-be-found: the brokers know no such topic; "
                                            "create it, or grant Describe on it to the daemon's user"));
  CHECK_THAT(checked.out, ContainsSubstring("problem  topic " + misspelt +
                                            ": the brokers know no such topic; did you mean " + fixture.topic + "?"));
  CHECK_THAT(checked.out, ContainsSubstring("/nowhere/greeter.so"));
  wrong = fixture.config;
  wrong.brokers = "127.0.0.1:" + std::to_string(free_port());
  const auto unreachable = command(wrong, {"check"});
  CHECK(unreachable.status == ExitStatus{69, 0});
  CHECK_THAT(unreachable.out, ContainsSubstring("unreachable  brokers " + wrong.brokers));
}

// fault: YAML bomb
TEST_CASE("a YAML bomb is refused at once: anchors and aliases are not allowed", "[alone]") {
  std::string bomb = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (char name = 'b'; name <= 'i'; ++name) {
    const std::string before(1, static_cast<char>(name - 1));
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 9; ++i) bomb += (i == 0 ? "*" : ", *") + before;
    bomb += "]\n";
  }
  const auto began = monotonic_ms();
  CHECK_THAT(refused(bomb + good), ContainsSubstring("FILE:1:"));
  CHECK(monotonic_ms() - began < 5000);
  CHECK_THAT(refused(good + "log: " + std::string(5000, '[') + "\n"), ContainsSubstring("FILE:"));
  CHECK_THAT(refused(good + "# " + std::string(2 << 20, 'x') + "\n"), ContainsSubstring("larger than"));
}

// fault: duplicate key
TEST_CASE("all problems of a file are reported together") {
  const auto text = refused(
      "database:\n  url: x\n  connections: many\nkafka:\n  brokers: b\ntopics: []\nbogus: 1\n"
      "database:\n  url: y\n");
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("FILE:3:"));
  CHECK_THAT(text, ContainsSubstring("database.connections"));
  CHECK_THAT(text, ContainsSubstring("kafka.group"));
  CHECK_THAT(text, ContainsSubstring("FILE:7:1: bogus"));
  CHECK_THAT(text, ContainsSubstring("FILE:8:1: database"));
}

TEST_CASE("a missing file or variable exits with 78 and is named") {
  const auto missing = run_to_end({.arguments = {daemon_program(), "--config", "/nonexistent/inboxd.yaml", "run"}});
  CHECK(missing.status == ExitStatus{78, 0});
  CHECK_THAT(missing.err, ContainsSubstring("/nonexistent/inboxd.yaml"));
  auto config = good;
  config.replace(config.find("group: g"), 8, "group: ${INBOXD_TEST_NOT_SET}");
  CHECK_THAT(refused(config), ContainsSubstring("INBOXD_TEST_NOT_SET"));
}

TEST_CASE("a plugin that cannot be loaded is refused at the start, with the reason") {
  DaemonFixture fixture{1};
  fixture.config.handlers[0].plugin = "/nonexistent/plugin.so";
  DaemonProcess daemon{fixture.config};
  CHECK(daemon.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(daemon.log(), ContainsSubstring("/nonexistent/plugin.so"));
  fixture.config.handlers[0].plugin = "";
  fixture.config.handlers[0].settings["no_such_setting"] = "1";
  DaemonProcess misspelt{fixture.config};
  CHECK(misspelt.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(misspelt.log(), ContainsSubstring("no_such_setting"));
}

TEST_CASE("no output contains a password") {
  DaemonFixture fixture{1};
  const TempFolder folder;
  write_file(folder / "password", "s3cr3t-unlikely\n");
  std::filesystem::permissions(folder / "password", std::filesystem::perms{0600});
  fixture.config.sections["database"] = "password: {file: " + (folder / "password").string() + "}";
  {
    const auto daemon = fixture.start();
    fixture.produce(5);
    CHECK(fixture.wait_done().is_perfect());
    daemon->stop();
    CHECK(daemon->count_in_log("s3cr3t") == 0);
  }
  for (const std::vector<std::string>& what : {std::vector<std::string>{"config", "show"}, {"check"}, {"status"}}) {
    const auto finished = command(fixture.config, what);
    CHECK((finished.out + finished.err).find("s3cr3t") == std::string::npos);
  }
}

// fault: forged log lines in payload, key or header
TEST_CASE("records cannot forge a log line") {
  DaemonFixture fixture{1};
  fixture.config.handlers.push_back({.name = "talker", .plugin = "log"});
  const auto daemon = fixture.start();
  const std::string forged = "x\n2026-01-01T00:00:00.000Z error daemon: forged";
  fixture.kafka.produce(
      {Message{.topic = fixture.topic, .key = forged, .payload = forged, .headers = {{"id", forged}}}});
  auto record = event_message(fixture.topic, "aaaa0000-0000-4000-8000-000000000001", forged, forged);
  record.key = forged;
  fixture.kafka.produce({record});
  daemon->wait_log("\"x\\x0a2026-01-01T00:00:00.000Z error daemon: forged\"", 2);  // type and key
  fixture.database.wait_for("it is in quarantine", "select count(*) from inbox.quarantined where reason = 'bad_id'", 1);
  CHECK(daemon->count_in_log("\n2026-01-01T00:00:00.000Z") == 0);
}
