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
  CHECK(said.status.code == 1);
  const std::string text = read_file(file);
  CHECK_THAT(nlohmann::json::parse(text).at("status").at("error").get<std::string>(), ContainsSubstring("not reached"));
  CHECK(text.find("hidden") == std::string::npos);
}
