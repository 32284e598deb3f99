#include "daemon/daemon_view.hpp"

#include <catch2/catch_test_macros.hpp>
#include <ctime>

using namespace inboxd;
using namespace inboxd::daemon;
using namespace std::chrono_literals;
using operations::Probe;

TEST_CASE("before the daemon exists, metrics have the start time of the process and ready 0") {
  const base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const DaemonView view{config::Settings{}, base::random_uuid(), log};
  const std::string text = view.metrics();
  CHECK(text.find("\ninboxd_ready 0\n") != std::string::npos);
  const std::string started = "\ninboxd_process_start_time_seconds ";
  const auto at = text.find(started);
  REQUIRE(at != std::string::npos);
  const double seconds = std::stod(text.substr(at + started.size()));
  CHECK(seconds > static_cast<double>(std::time(nullptr)) - 60);
  CHECK(seconds < static_cast<double>(std::time(nullptr)) + 60);
}

TEST_CASE("a daemon with stalled loops is not alive, except before its start and during a stop") {
  config::Settings settings;
  settings.database.deadline -= stall_limit(settings);  // every loop counts as stalled
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const auto owner = base::random_uuid();
  DaemonView view{settings, owner, log};
  Daemon daemon{settings, owner, log};  // not started, so no loop beats
  CHECK(view.health(Probe::live).is_well);
  view.attach(daemon);
  CHECK_FALSE(view.health(Probe::live).is_well);
  CHECK(view.health(Probe::ready).is_well);
  view.stopping();
  CHECK(view.health(Probe::live).is_well);
  view.detach();
}

TEST_CASE("every error has a counter from 0, and no second counter, also after it has happened") {
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const DaemonView view{config::Settings{}, base::random_uuid(), log};
  const std::string halted = "inboxd_log_lines_total{level=\"error\",kind=\"consumer.halted\"} ";
  const std::string cannot = "inboxd_log_lines_total{level=\"error\",kind=\"daemon.start_failed\"} ";
  CHECK(view.metrics().find(halted + "0\n") != std::string::npos);
  log.error("consumer.halted");
  const std::string text = view.metrics();
  const auto at = text.find(halted);
  REQUIRE(at != std::string::npos);
  CHECK(text.find(halted + "1\n") == at);
  CHECK(text.find(halted, at + 1) == std::string::npos);
  CHECK(text.find(cannot + "0\n") != std::string::npos);
}
