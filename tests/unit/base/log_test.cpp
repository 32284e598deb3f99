#include "base/log.hpp"

#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace inboxd::base;

namespace {

/// What is written to stderr meanwhile.
std::string written_by(const std::function<void()>& work) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::rewind(file);
  std::string out;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) out += static_cast<char>(c);
  std::fclose(file);
  return out;
}

std::string after_time(const std::string& line) { return line.substr(line.find(' ') + 1); }

}  // namespace

TEST_CASE("a log line is a sentence and facts") {
  const std::string out = written_by([] {
    Logger{LogLevel::info, LogFormat::text}.info("ingest: stored", {{"topic", "orders"}, {"new", 998}, {"late", true}});
  });
  CHECK(after_time(out) == "info ingest: stored topic=orders new=998 late=true\n");
}

TEST_CASE("a record cannot forge a log line or a fact") {
  const std::string forged = "x\n2024-01-01T00:00:00Z error \\\" level=error {} %d";
  const std::string text = written_by([&] { Logger{LogLevel::info, LogFormat::text}.error("odd", {{"key", forged}}); });
  CHECK(after_time(text) ==
        "error odd key=\"x\\n2024-01-01T00:00:00Z error \\\\\\\" level=error {} %d\"\n");
  const std::string json = written_by([&] { Logger{LogLevel::info, LogFormat::json}.error("odd", {{"key", forged}}); });
  CHECK(json.find("\"message\":\"odd\",\"key\":\"x\\u000a2024-01-01T00:00:00Z error \\\\\\\" level=error {} %d\"}\n") !=
        json.npos);
  CHECK(std::count(json.begin(), json.end(), '\n') == 1);
}

TEST_CASE("where no journal listens, systemd gets the priority on stderr, and no time") {
  const std::string out =
      written_by([] { Logger{LogLevel::info, LogFormat::journal, "/nowhere"}.error("settle: lost lease"); });
  CHECK(out == "<3>settle: lost lease\n");
}

TEST_CASE("what is below the level is not written") {
  const std::string out = written_by([] {
    Logger log{LogLevel::warn, LogFormat::journal, "/nowhere"};
    log.info("no");
    log.set_level(LogLevel::debug);
    log.debug("yes");
  });
  CHECK(out == "<7>yes\n");
}

TEST_CASE("lines are counted by level and kind, those that the level keeps back included") {
  std::vector<Logger::Kind> kinds;
  written_by([&] {
    Logger log{LogLevel::error, LogFormat::text};
    log.error("settler: broken", {{"reason", "one"}});
    log.error("settler: broken", {{"reason", "another"}});
    log.warn("settler: broken");
    log.debug("settler: detail");
    log.write(LogLevel::error, "what a plugin made up 1", {}, "handler: a line of its own");
    log.write(LogLevel::error, "what a plugin made up 2", {}, "handler: a line of its own");
    for (int i = 0; i < 1'000; ++i) log.error("made up " + std::to_string(i));
    kinds = log.kinds();
  });
  const auto lines = [&](LogLevel level, const std::string& sentence) -> std::uint64_t {
    for (const auto& kind : kinds) {
      if (kind.level == level && kind.sentence == sentence) return kind.lines;
    }
    return 0;
  };
  CHECK(lines(LogLevel::error, "settler: broken") == 2);
  CHECK(lines(LogLevel::warn, "settler: broken") == 1);
  CHECK(lines(LogLevel::debug, "settler: detail") == 0);
  CHECK(lines(LogLevel::error, "handler: a line of its own") == 2);
  CHECK(kinds.size() < 600);  // bounded, whatever is made up
  CHECK(lines(LogLevel::error, "other") > 400);
}
