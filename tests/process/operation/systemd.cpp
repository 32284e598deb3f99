// Behaviour that the systemd unit needs.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The HTTP status of a change that needs the token.
int status_of_change(int port, const std::string& token) {
  return post(port, "/v1/instance/pause", "{}", {"Content-Type: application/json", "Authorization: Bearer " + token})
      .status;
}

}  // namespace

TEST_CASE("a credential is read from the folder that systemd names, and a missing credential is named") {
  DaemonFixture fixture{1};
  const int port = free_port();
  const TempFolder credentials;
  fixture.config.sections["admin"] =
      "listen: '127.0.0.1:" + std::to_string(port) + "', token: {credential: admin-token}";
  write_file(credentials / "admin-token", "from-systemd\n");
  {
    DaemonProcess daemon{
        fixture.config, {"run", "--migrate"}, {{"CREDENTIALS_DIRECTORY", credentials.path().string()}}};
    daemon.wait_ready();
    CHECK(status_of_change(port, "something-else") == 401);
    CHECK(status_of_change(port, "from-systemd") == 200);
    wait_until("health, which is given no credentials, finds it ready", [&] {
      return command(fixture.config, {"health"}).status == ExitStatus{0, 0};
    });
    CHECK(daemon.stop() == ExitStatus{0, 0});
    CHECK(daemon.count_in_log("from-systemd") == 0);
  }
  std::filesystem::remove(credentials / "admin-token");
  DaemonProcess without{fixture.config, {"run"}, {{"CREDENTIALS_DIRECTORY", credentials.path().string()}}};
  CHECK(without.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(without.log(), ContainsSubstring("admin.token") && ContainsSubstring("admin-token"));
  DaemonProcess by_hand{fixture.config, {"run"}};
  CHECK(by_hand.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(by_hand.log(), ContainsSubstring("LoadCredential="));
}

TEST_CASE("the check before a reload needs no credentials, and refuses whatever the daemon would refuse") {
  DaemonFixture fixture{1};
  fixture.config.sections["admin"] = "listen: off, token: {credential: admin-token}";
  CHECK(command(fixture.config, {"check", "--offline"}).status == ExitStatus{0, 0});
  fixture.config.sections["shutdown"] = "drain: soon";
  const auto refused = command(fixture.config, {"check", "--offline"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("shutdown.drain"));
}

TEST_CASE("systemctl status shows the progress of a start, the state of the daemon and its stop") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  fixture.config.sections["shutdown"] = "drain: 7s";
  server.stop();
  DaemonProcess daemon{fixture.config};
  const auto wait_status = [&](const std::string& text) {
    wait_until(text, [&] { return daemon.notified().has_line_starting_with("STATUS=" + text); });
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

// fault: notify socket that is not read
TEST_CASE("a notify socket that is not read delays no start, SIGHUP or SIGTERM; READY=1 arrives once it is read") {
  DaemonFixture fixture{1};
  NotifySocket socket;
  socket.stop_reading();
  DaemonProcess daemon{
      fixture.config, {"run", "--migrate"}, {{"NOTIFY_SOCKET", socket.path()}, {"WATCHDOG_USEC", "1000000"}}};
  daemon.wait_log("kind=daemon.started");
  daemon.process().signal(SIGHUP);
  daemon.wait_log("kind=daemon.reloaded");
  socket.resume_reading();
  wait_until("start and reload are notified", [&] { return socket.count("READY=1") == 2; });
  auto lines = socket.lines();
  std::erase_if(lines, [](const std::string& line) {
    return line == "FILL=1" || line == "WATCHDOG=1" || line.starts_with("STATUS=") || line.starts_with("MONOTONIC_");
  });
  CHECK(lines == std::vector<std::string>{"READY=1", "RELOADING=1", "READY=1"});
  wait_until("heartbeats arrive again", [&] { return socket.count("WATCHDOG=1") >= 2; });

  socket.stop_reading();
  CHECK(daemon.stop() == ExitStatus{0, 0});
}

TEST_CASE("a watchdog meant for another process gets no notifications") {
  DaemonFixture fixture{1};
  DaemonProcess daemon{fixture.config, {"run", "--migrate"}, {{"WATCHDOG_USEC", "200000"}, {"WATCHDOG_PID", "1"}}};
  daemon.wait_ready();
  holds_for("nothing is said", milliseconds{600}, [&] { return daemon.notified().count("WATCHDOG=1") == 0; });
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
