#include "daemon/live.hpp"

#include <catch2/catch_test_macros.hpp>
#include <ctime>

using namespace inboxd;
using namespace inboxd::daemon;
using namespace std::chrono_literals;
using admin::Probe;

TEST_CASE("before the daemon is there, metrics say when the process started and that it is not ready") {
  const base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const LiveDaemon live{config::Settings{}, base::random_uuid(), log};
  const std::string text = live.metrics();
  CHECK(text.find("\ninboxd_ready 0\n") != std::string::npos);
  const std::string started = "\ninboxd_process_start_time_seconds ";
  const auto at = text.find(started);
  REQUIRE(at != std::string::npos);
  const double seconds = std::stod(text.substr(at + started.size()));
  CHECK(seconds > static_cast<double>(std::time(nullptr)) - 60);
  CHECK(seconds < static_cast<double>(std::time(nullptr)) + 60);
}

TEST_CASE("one loop that stands still for too long is enough, however lively the others are") {
  const std::chrono::steady_clock::time_point begin{};
  const auto still = [&](std::chrono::seconds one, std::chrono::seconds other, std::chrono::seconds now) {
    return base::standing_still({{"one", begin + one}, {"other", begin + other}}, begin + now, 90s);
  };
  CHECK(still(0s, 0s, 89s).empty());
  CHECK(still(0s, 0s, 90s) == "one, other");
  CHECK(still(1s, 90s, 90s).empty());
  CHECK(still(90s, 0s, 90s) == "other");
  CHECK(still(0s, 90s, 90s) == "one");
}

TEST_CASE("a daemon whose loops stand still is not alive, unless it has yet to start or is about to end") {
  config::Settings settings;
  settings.database.deadline -= longest_standstill(settings);  // whatever stands still does so for too long
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const auto owner = base::random_uuid();
  LiveDaemon live{settings, owner, log};
  Daemon daemon{settings, owner, log};  // nothing of it moves: it is not started
  CHECK(live.health(Probe::live).is_well);
  live.attach(daemon);
  CHECK_FALSE(live.health(Probe::live).is_well);
  CHECK(live.health(Probe::ready).is_well);
  live.stopping();
  CHECK(live.health(Probe::live).is_well);
  live.detach();
}

TEST_CASE("errors are counted from nought, each once, also when they have happened") {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const LiveDaemon live{config::Settings{}, base::random_uuid(), log};
  const std::string halted = "inboxd_log_lines_total{level=\"error\",kind=\"consumer: halted\"} ";
  const std::string cannot = "inboxd_log_lines_total{level=\"error\",kind=\"daemon: cannot start\"} ";
  CHECK(live.metrics().find(halted + "0\n") != std::string::npos);
  log.error("consumer: halted");
  const std::string text = live.metrics();
  const auto at = text.find(halted);
  REQUIRE(at != std::string::npos);
  CHECK(text.find(halted + "1\n") == at);
  CHECK(text.find(halted, at + 1) == std::string::npos);
  CHECK(text.find(cannot + "0\n") != std::string::npos);
}
