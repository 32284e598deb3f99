#include "base/logger.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/log_messages.hpp"

using namespace inboxd::base;

namespace {

/// The output of `work` on stderr.
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

TEST_CASE("a log line is the text of its slug, facts and the slug as its kind") {
  const auto write_line = [](LogFormat format) {
    return written_by([&] {
      Logger{LogLevel::info, format}.warn("ingest.commit_in_doubt",
                                          {{"topic", "orders"}, {"new", 998}, {"late", true}});
    });
  };
  CHECK(after_time(write_line(LogFormat::text)) ==
        "warning ingest: commit in doubt, retrying batch topic=orders new=998 late=true kind=ingest.commit_in_doubt\n");
  CHECK(write_line(LogFormat::json)
            .ends_with("\"level\":\"warn\",\"message\":\"ingest: commit in doubt, retrying "
                       "batch\",\"topic\":\"orders\",\"new\":998,"
                       "\"late\":true,\"kind\":\"ingest.commit_in_doubt\"}\n"));
}

TEST_CASE("a slug that the table does not have is written as it is") {
  CHECK(find_log_message("no.such_slug") == nullptr);
  const std::string out = written_by([] { Logger{LogLevel::info, LogFormat::text}.info("no.such_slug"); });
  CHECK(after_time(out) == "info no.such_slug kind=no.such_slug\n");
}

TEST_CASE("the line of a plugin has its own text") {
  const std::string out = written_by([] {
    Logger{LogLevel::info, LogFormat::text}.write(LogLevel::error, "handler: hello", {{"handler", "mail"}},
                                                  "handler.log");
  });
  CHECK(after_time(out) == "error handler: hello handler=mail kind=handler.log\n");
}

TEST_CASE("each message of the table is found by its slug") {
  for (const LogMessage& message : log_messages()) {
    CAPTURE(message.slug);
    CHECK(find_log_message(message.slug) == &message);
  }
}

// fault: forged log lines in payload, key or header
TEST_CASE("a record cannot forge a log line or a fact") {
  const std::string forged = "x\n2024-01-01T00:00:00Z error \\\" level=error {} %d";
  const std::string text = written_by([&] { Logger{LogLevel::info, LogFormat::text}.error("odd", {{"key", forged}}); });
  CHECK(after_time(text) == "error odd key=\"x\\n2024-01-01T00:00:00Z error \\\\\\\" level=error {} %d\" kind=odd\n");
  const std::string json = written_by([&] { Logger{LogLevel::info, LogFormat::json}.error("odd", {{"key", forged}}); });
  CHECK(json.find("\"message\":\"odd\",\"key\":\"x\\u000a2024-01-01T00:00:00Z error \\\\\\\" level=error {} "
                  "%d\",\"kind\":\"odd\"}\n") != json.npos);
  CHECK(std::count(json.begin(), json.end(), '\n') == 1);
}

TEST_CASE("without a journal, stderr gets the priority and no time") {
  const std::string out = written_by([] {
    Logger{LogLevel::info, LogFormat::journal, "/nowhere"}.error("lease_lost");
  });
  CHECK(out == "<3>lease_lost kind=lease_lost\n");
}

TEST_CASE("lines below the level are not written") {
  const std::string out = written_by([] {
    Logger log{LogLevel::warn, LogFormat::journal, "/nowhere"};
    log.info("no");
    log.set_level(LogLevel::debug);
    log.debug("yes");
  });
  CHECK(out == "<7>yes kind=yes\n");
}

TEST_CASE("lines are counted by level and kind, including lines below the level") {
  std::vector<Logger::Kind> kinds;
  written_by([&] {
    Logger log{LogLevel::error, LogFormat::text};
    log.error("settler.broken", {{"reason", "one"}});
    log.error("settler.broken", {{"reason", "another"}});
    log.warn("settler.broken");
    log.debug("settler.detail");
    log.write(LogLevel::error, "what a plugin made up 1", {}, "handler.log");
    log.write(LogLevel::error, "what a plugin made up 2", {}, "handler.log");
    for (int i = 0; i < 1'000; ++i) log.error("made up " + std::to_string(i));
    kinds = log.kinds();
  });
  const auto lines = [&](LogLevel level, const std::string& slug) -> std::uint64_t {
    for (const auto& kind : kinds) {
      if (kind.level == level && kind.slug == slug) return kind.lines;
    }
    return 0;
  };
  CHECK(lines(LogLevel::error, "settler.broken") == 2);
  CHECK(lines(LogLevel::warn, "settler.broken") == 1);
  CHECK(lines(LogLevel::debug, "settler.detail") == 0);
  CHECK(lines(LogLevel::error, "handler.log") == 2);
  CHECK(kinds.size() < 600);  // bounded, whatever is made up
  CHECK(lines(LogLevel::error, "other") > 400);
}
