// `inboxd doctor`: all findings at once, and a file for support.
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/support/order_fixture.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("doctor collects findings in a file without secrets, payloads, keys and messages of events") {
  OrderFixture fixture{1, {"retry: {max_attempts: 50, backoff: fixed, base: 1h, jitter: 0}"}};
  fixture.set("fail_type", "Bad");
  fixture.config.sections["admin"] =
      "listen: '127.0.0.1:" + std::to_string(free_port()) + "', token: correct-horse-battery";
  const auto daemon = fixture.start();
  fixture.events.produce(3, [](int i) { return KeyedEvents::Made{"cust-secret", i == 0 ? "Bad" : "Happened"}; });
  wait_until("the key is blocked", [&] {
    return command(fixture.config, {"status"}).out.find("wait for a failed event") != std::string::npos;
  });
  const TempFolder folder;
  const std::string file = (folder / "bundle.json").string();
  const auto said = command(fixture.config, {"doctor", "--bundle", file});
  CHECK_THAT(said.err, ContainsSubstring("doctor: wrote " + file));
  CHECK_THAT(said.out, ContainsSubstring("events wait for a failed event"));
  struct stat found {};
  REQUIRE(::stat(file.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  CHECK(found.st_size < 1 << 20);
  const std::string text = read_file(file);
  const auto bundle = nlohmann::json::parse(text);
  for (const char* part :
       {"machine", "check", "status", "handlers list", "partitions list", "version", "configuration", "metrics"}) {
    INFO(part);
    REQUIRE(bundle.contains(part));
    CHECK_FALSE(bundle.at(part).contains("error"));
  }
  for (const char* secret : {"cust-secret", "told to fail", "correct-horse-battery"}) {
    INFO(secret);
    CHECK(text.find(secret) == std::string::npos);
  }
  const auto again = command(fixture.config, {"doctor", "--bundle", file});
  CHECK(again.status.code == 1);
  CHECK_THAT(again.err, ContainsSubstring("exists; choose another name"));
}

TEST_CASE("doctor without a database still writes its file, with the reason in place of the answers") {
  DaemonFixture fixture{1};
  fixture.config.url = "postgresql://postgres:hidden@127.0.0.1:1/none";
  const TempFolder folder;
  const std::string file = (folder / "bundle.json").string();
  const auto said = command(fixture.config, {"doctor", "--bundle", file});
  CHECK(said.status.code == 69);
  const std::string text = read_file(file);
  CHECK_THAT(nlohmann::json::parse(text).at("status").at("error").get<std::string>(), ContainsSubstring("not reached"));
  CHECK(text.find("hidden") == std::string::npos);
}

TEST_CASE("doctor finds the problems of handlers and the warnings that check finds") {
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.config.handlers.push_back({.name = "gone", .plugin = "/nowhere/gone.so"});
  HandlerText tableless{.name = "tableless", .plugin = "sql"};
  tableless.settings = {{"statement", "insert into no_such_table select event_id from events"}};
  fixture.config.handlers.push_back(tableless);
  const TempFolder folder;
  const std::string file = (folder / "bundle.json").string();
  const auto checked = command(fixture.config, {"check", "--json"});
  const auto said = command(fixture.config, {"doctor", "--bundle", file});
  CHECK(checked.status.code == 1);
  CHECK(said.status.code == 1);
  CHECK_THAT(said.out, ContainsSubstring("/nowhere/gone.so") && ContainsSubstring("no_such_table"));
  const auto in_bundle = nlohmann::json::parse(read_file(file)).at("check");
  CHECK(in_bundle.at("ok") == false);
  const auto own = nlohmann::json::parse(checked.out).at("findings");
  const auto subjects_of = [](const nlohmann::json& findings) {
    std::vector<std::string> out;
    for (const auto& each : findings) out.push_back(each.at("result").dump() + " " + each.at("subject").dump());
    return out;
  };
  CHECK(subjects_of(in_bundle.at("findings")) == subjects_of(own));
}

TEST_CASE("doctor writes its file for a refused configuration, too, and ends with 78") {
  const TempFolder folder;
  const std::string file = (folder / "bundle.json").string();
  const auto said = command_with_file("databse: {}\n", {"doctor", "--bundle", file});
  CHECK(said.status.code == 78);
  CHECK_THAT(said.err, ContainsSubstring(":1:1: databse") && ContainsSubstring("doctor: wrote " + file));
  const auto bundle = nlohmann::json::parse(read_file(file));
  CHECK(bundle.at("check").at("ok") == false);
  CHECK_THAT(bundle.at("check").at("findings").at(0).at("message").get<std::string>(), ContainsSubstring("databse"));
  CHECK(bundle.at("version").contains("inboxd"));
  CHECK(bundle.at("machine").contains("kernel"));
}

TEST_CASE("doctor's file has no secret from headers, environments, arguments, URLs and properties") {
  DaemonFixture fixture{1};
  fixture.config.url = "postgresql://postgres:hush-01-word@127.0.0.1:1/none?options=-capp.key%3Dhush-02-word";
  fixture.config.kafka["sasl.oauthbearer.extensions"] = "apikey=hush-03-word";
  fixture.config.sections["tracing"] = "endpoint: 'http://127.0.0.1:4318/v1/hush-04-word'";
  const auto add = [&](const std::string& name, const std::string& settings) {
    fixture.config.handlers.push_back({.name = name, .plugin = name, .more = {"settings: " + settings}});
  };
  add("http",
      "{url: 'https://127.0.0.1:1/in?sig=hush-05-word&code=hush-06-word', headers: {X-Auth: hush-07-word, "
      "X-Custom: Basic aHVzaC0wOC13b3Jk}}");
  add("exec",
      "{command: [/bin/true, --pass, hush-09-word, 'Authorization: Bearer hush-10-word', 'https://hush-11-word@h/', "
      "'http://h/ https://me:hush-12-word@h/'], environment: {DB_PW: hush-13-word, "
      "HOOK: 'https://hooks.slack.com/services/T0/B0/hush-14-word'}}");
  const TempFolder folder;
  const std::string file = (folder / "bundle.json").string();
  CHECK(command(fixture.config, {"doctor", "--bundle", file}).status.code == 69);
  const std::string text = read_file(file);
  CHECK_THAT(text, ContainsSubstring("127.0.0.1:1") && ContainsSubstring("X-Auth") && ContainsSubstring("/bin/true"));
  CHECK_THAT(text, !ContainsSubstring("hush") && !ContainsSubstring("aHVza"));
}
