#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "base/text.hpp"

namespace inboxd::base {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// journald reads the syslog priority from a `<N>` at the beginning of a line.
std::string_view journal_priority(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "<7>";
    case LogLevel::info: return "<6>";
    case LogLevel::warn: return "<4>";
    case LogLevel::error: return "<3>";
  }
  return "<6>";
}

std::string text_line(std::string_view sentence, Logger::Facts facts) {
  std::string line = escape_controls(sentence);
  for (const Fact& fact : facts) {
    line.append(" ").append(fact.name).append("=");
    line += fact.is_text ? quote_if_needed(fact.value) : fact.value;
  }
  return line;
}

std::string json_line(LogLevel level, std::string_view sentence, Logger::Facts facts) {
  std::string line = "\"level\":\"" + std::string{name_of(level)} + "\",\"message\":" + json_quote(sentence);
  for (const Fact& fact : facts) {
    line.append(",").append(json_quote(fact.name)).append(":");
    line += fact.is_text ? json_quote(fact.value) : fact.value;
  }
  return line;
}

/// Sentences are constants of this program, so there are only so many; what is beyond is a mistake of ours, bounded.
constexpr std::size_t most_kinds = 500;

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
  }
  return "info";
}

Fact::Fact(std::string_view n, double v) : name{n}, is_text{false} {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", v);
  value = text;
}

struct Logger::Sink {
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<LogFormat> format;
  std::mutex mutex;                            // guards the following
  std::map<std::pair<LogLevel, std::string>, std::uint64_t, std::less<>> lines;

  void count(LogLevel level, std::string_view kind) {
    const std::lock_guard lock{mutex};
    const auto found = lines.find(std::pair{level, std::string{kind}});
    if (found != lines.end()) ++found->second;
    else ++lines[{level, lines.size() < most_kinds ? std::string{kind} : "other"}];
  }
};

Logger::Logger(LogLevel level, LogFormat format) : sink_{std::make_unique<Sink>()} {
  sink_->logger = std::make_shared<spdlog::logger>("inboxd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  sink_->logger->flush_on(spdlog::level::debug);
  set_level(level);
  set_format(format);
}

Logger::~Logger() = default;

void Logger::set_level(LogLevel level) { sink_->logger->set_level(spdlog_level(level)); }

void Logger::set_format(LogFormat format) {
  sink_->format = format;
  switch (format) {
    case LogFormat::text:
      sink_->logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
      break;
    case LogFormat::json:
      sink_->logger->set_pattern("{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v}", spdlog::pattern_time_type::utc);
      break;
    case LogFormat::journal: sink_->logger->set_pattern("%v", spdlog::pattern_time_type::utc); break;
  }
}

std::vector<Logger::Kind> Logger::kinds() const {
  const std::lock_guard lock{sink_->mutex};
  std::vector<Kind> out;
  for (const auto& [kind, lines] : sink_->lines) out.push_back({kind.first, kind.second, lines});
  return out;
}

void Logger::write(LogLevel level, std::string_view sentence, Facts facts, std::string_view kind) {
  const auto wanted = spdlog_level(level);
  if (level != LogLevel::debug || sink_->logger->should_log(wanted)) {
    sink_->count(level, kind.empty() ? sentence : kind);
  }
  if (!sink_->logger->should_log(wanted)) return;
  switch (sink_->format.load()) {
    case LogFormat::text: sink_->logger->log(wanted, spdlog::string_view_t{text_line(sentence, facts)}); break;
    case LogFormat::json: sink_->logger->log(wanted, spdlog::string_view_t{json_line(level, sentence, facts)}); break;
    case LogFormat::journal:
      sink_->logger->log(wanted,
                         spdlog::string_view_t{std::string{journal_priority(level)} + text_line(sentence, facts)});
      break;
  }
}

}  // namespace inboxd::base
