// What the unit of systemd relies on, beside the notifications: credentials, and a check before a reload.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Asks for a change that only the bearer of the token may make.
int status_of_change(int port, const std::string& token) {
  return post(port, "/v1/instance/pause", "{}", {"Content-Type: application/json", "Authorization: Bearer " + token})
      .status;
}

}  // namespace

TEST_CASE("a credential is read from the folder that systemd names, and one that is missing is told by its name") {
  Stage stage{1};
  const int port = free_port();
  const TempFolder credentials;
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "', token: {credential: admin-token}";
  write_file(credentials / "admin-token", "from-systemd\n");
  {
    Daemon daemon{stage.config, {"run", "--migrate"}, {{"CREDENTIALS_DIRECTORY", credentials.path().string()}}};
    daemon.wait_ready();
    CHECK(status_of_change(port, "something-else") == 401);
    CHECK(status_of_change(port, "from-systemd") == 200);
    wait_until("health, which is given no credentials, finds it ready", [&] {
      return command(stage.config, {"health"}).status == ExitStatus{0, 0};
    });
    CHECK(daemon.stop() == ExitStatus{0, 0});
    CHECK(daemon.count_in_log("from-systemd") == 0);
  }
  std::filesystem::remove(credentials / "admin-token");
  Daemon without{stage.config, {"run"}, {{"CREDENTIALS_DIRECTORY", credentials.path().string()}}};
  CHECK(without.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(without.log(), ContainsSubstring("admin.token") && ContainsSubstring("admin-token"));
  Daemon by_hand{stage.config, {"run"}};
  CHECK(by_hand.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(by_hand.log(), ContainsSubstring("LoadCredential="));
}

TEST_CASE("the check before a reload needs no credentials, and refuses what the daemon would refuse") {
  Stage stage{1};
  stage.config.sections["admin"] = "listen: off, token: {credential: admin-token}";
  CHECK(command(stage.config, {"check", "--offline"}).status == ExitStatus{0, 0});
  stage.config.sections["shutdown"] = "drain: soon";
  const auto refused = command(stage.config, {"check", "--offline"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("shutdown.drain"));
}

TEST_CASE("systemctl status tells what a start waits for and does, how the daemon fares, and that it stops") {
  PrivatePostgres server;
  Stage stage{1, server.url()};
  stage.config.sections["shutdown"] = "drain: 7s";
  server.stop();
  Daemon daemon{stage.config};
  const auto wait_status = [&](const std::string& text) {
    wait_until(text, [&] { return daemon.notified().has_begun_with("STATUS=" + text); });
  };
  wait_status("waiting for the database: ");
  server.start();
  wait_status("migrating: 0001");
  daemon.wait_ready();
  wait_status("reads ");
  CHECK(daemon.stop() == ExitStatus{0, 0});
  CHECK(daemon.notified().lines().back() == "STATUS=stopping, running calls have 7s to finish");
  for (const std::string& line : daemon.notified().lines()) {
    CHECK((line.starts_with("STATUS=") || line == "READY=1" || line == "STOPPING=1"));
  }
}

TEST_CASE("the watchdog of another process is not ours to feed") {
  Stage stage{1};
  Daemon daemon{stage.config, {"run", "--migrate"}, {{"WATCHDOG_USEC", "200000"}, {"WATCHDOG_PID", "1"}}};
  daemon.wait_ready();
  holds_for("nothing is said", milliseconds{600}, [&] { return daemon.notified().count("WATCHDOG=1") == 0; });
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
