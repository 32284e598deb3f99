#include "base/logger.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "base/journal.hpp"
#include "base/line_writer.hpp"
#include "base/log_messages.hpp"
#include "base/mutex.hpp"
#include "base/text.hpp"
#include "base/uuid.hpp"

namespace inboxd::base {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

char journal_priority(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return '7';
    case LogLevel::info:
      return '6';
    case LogLevel::warn:
      return '4';
    case LogLevel::error:
      return '3';
  }
  return '6';
}

std::string text_line(std::string_view text, Logger::Facts facts, std::string_view slug) {
  std::string line = escape_controls(text);
  for (const Fact& fact : facts) {
    line.append(" ").append(fact.name).append("=");
    line += fact.is_text ? quote_if_needed(fact.value) : fact.value;
  }
  return line.append(" kind=").append(quote_if_needed(slug));
}

std::string json_line(LogLevel level, std::string_view text, Logger::Facts facts, std::string_view slug) {
  std::string line = "\"level\":\"" + std::string{name_of(level)} + "\",\"message\":" + json_quote(text);
  for (const Fact& fact : facts) {
    line.append(",").append(json_quote(fact.name)).append(":");
    line += fact.is_text ? json_quote(fact.value) : fact.value;
  }
  return line.append(",\"kind\":").append(json_quote(slug));
}

/// Equal for all lines of a kind, in every version: `journalctl MESSAGE_ID=…` finds them.
std::string message_id_of(std::string_view slug) {
  static constexpr Uuid name_space{
      {0x53, 0x5f, 0x0b, 0x0e, 0x9d, 0x3b, 0x4e, 0x0c, 0x8a, 0x2f, 0x61, 0x4c, 0xd5, 0x20, 0x7e, 0x19}};
  const Uuid id = uuid_v5(name_space, slug);
  return hex({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

/// A fact becomes a field: EVENT_ID=, HANDLER=, TOPIC=. Names that journald or this entry uses get a prefix.
std::string journal_entry(LogLevel level, std::string_view text, Logger::Facts facts, std::string_view slug) {
  JournalEntry out;
  out.add("MESSAGE", text_line(text, facts, slug));
  out.add("PRIORITY", {std::string{journal_priority(level)}});
  out.add("SYSLOG_IDENTIFIER", "inboxd");
  out.add("MESSAGE_ID", message_id_of(slug));
  out.add("KIND", std::string{slug});
  for (const Fact& fact : facts) {
    const bool is_taken = fact.name == "message" || fact.name == "priority" || fact.name == "user" ||
                          fact.name == "unit" || fact.name.starts_with("_");
    out.add(is_taken ? "inboxd_" + std::string{fact.name} : std::string{fact.name}, fact.value);
  }
  return out.bytes();
}

/// Far more than the table has: unknown slugs are a bug, which must not cost unlimited memory.
constexpr std::size_t max_kinds = 500;

/// Formats lines for stderr.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineWriter lines{STDERR_FILENO};

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    lines.write({line.data(), line.size()});
  }
  void flush_() override {}
};

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "info";
}

Fact::Fact(std::string_view n, double v) : name{n}, is_text{false} {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", v);
  value = text;
}

struct Logger::Sink {
  explicit Sink(std::string journal_path) : journal{std::move(journal_path)} {}

  const std::shared_ptr<StderrSink> standard_error = std::make_shared<StderrSink>();
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<LogFormat> format;
  Journal journal;
  Mutex mutex;
  std::map<std::pair<LogLevel, std::string>, std::uint64_t, std::less<>> lines GUARDED_BY(mutex);

  void count(LogLevel level, std::string_view slug) {
    const Lock lock{mutex};
    const auto found = lines.find(std::pair{level, std::string{slug}});
    if (found != lines.end())
      ++found->second;
    else
      ++lines[{level, lines.size() < max_kinds ? std::string{slug} : "other"}];
  }
};

Logger::Logger(LogLevel level, LogFormat format, std::string journal)
    : sink_{std::make_unique<Sink>(std::move(journal))} {
  sink_->logger = std::make_shared<spdlog::logger>("inboxd", sink_->standard_error);
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
    case LogFormat::journal:
      sink_->logger->set_pattern("%v", spdlog::pattern_time_type::utc);
      break;
  }
}

std::uint64_t Logger::lost() const { return sink_->journal.lost() + sink_->standard_error->lines.lost(); }

std::vector<Logger::Kind> Logger::kinds() const {
  const Lock lock{sink_->mutex};
  std::vector<Kind> out;
  for (const auto& [kind, lines] : sink_->lines) out.push_back({kind.first, kind.second, lines});
  return out;
}

void Logger::write_message(LogLevel level, std::string_view slug, Facts facts) {
  const LogMessage* const message = find_log_message(slug);
  write(level, message == nullptr ? slug : message->text, facts, slug);
}

void Logger::write(LogLevel level, std::string_view text, Facts facts, std::string_view slug) {
  const auto wanted = spdlog_level(level);
  if (level != LogLevel::debug || sink_->logger->should_log(wanted)) sink_->count(level, slug);
  if (!sink_->logger->should_log(wanted)) return;
  const auto log_line = [&](const std::string& line) { sink_->logger->log(wanted, spdlog::string_view_t{line}); };
  switch (sink_->format.load()) {
    case LogFormat::text:
      log_line(text_line(text, facts, slug));
      break;
    case LogFormat::json:
      log_line(json_line(level, text, facts, slug));
      break;
    case LogFormat::journal:
      if (sink_->journal.send(journal_entry(level, text, facts, slug)) != Journal::Sent::nobody_listens) break;
      // The priority as systemd reads it at the beginning of a line of stderr.
      log_line(std::string{'<', journal_priority(level), '>'} + text_line(text, facts, slug));
      break;
  }
}

}  // namespace inboxd::base
