#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::base {

enum class LogLevel { debug, info, warn, error };
enum class LogFormat { text, json, journal };
std::string_view name_of(LogLevel level);

/// A `name=value` of a log line. Values are escaped when the line is written; never put a payload or a secret in.
struct Fact {
  std::string_view name;
  std::string value;
  bool is_text = true;

  Fact(std::string_view n, std::string_view v) : name{n}, value{v} {}
  Fact(std::string_view n, const char* v) : name{n}, value{v} {}
  Fact(std::string_view n, const std::string& v) : name{n}, value{v} {}
  Fact(std::string_view n, bool v) : name{n}, value{v ? "true" : "false"}, is_text{false} {}
  Fact(std::string_view n, double v);
  template <std::integral Number>
  Fact(std::string_view n, Number v) : name{n}, value{std::to_string(v)}, is_text{false} {}
};

/// Writes lines to stderr or the journal: `ingest: batch stored new=998 kind=ingest.batch_stored`. Any thread.
/// Control characters are escaped, so that a record cannot forge a line.
class Logger final {
 public:
  /// `journal` is the socket that LogFormat::journal writes to, entries with a field for each fact. If nothing listens
  /// there, lines go to stderr with their priority in front.
  Logger(LogLevel level, LogFormat format, std::string journal = "/run/systemd/journal/socket");
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  using Facts = std::initializer_list<Fact>;
  /// The slug names a row of log_messages(), which has the text of the line. An unknown slug is written as it is.
  void debug(std::string_view slug, Facts facts = {}) { write_message(LogLevel::debug, slug, facts); }
  void info(std::string_view slug, Facts facts = {}) { write_message(LogLevel::info, slug, facts); }
  void warn(std::string_view slug, Facts facts = {}) { write_message(LogLevel::warn, slug, facts); }
  void error(std::string_view slug, Facts facts = {}) { write_message(LogLevel::error, slug, facts); }
  /// A line with a plugin's own text; `slug` is the kind under which it is counted.
  void write(LogLevel level, std::string_view text, Facts facts, std::string_view slug);

  /// Lines by level and slug. Lines that the level suppresses are counted, too, except debug lines.
  struct Kind {
    LogLevel level;
    std::string slug;
    std::uint64_t lines = 0;
  };
  std::vector<Kind> kinds() const;
  /// Lines that the journal did not take in time.
  std::uint64_t lost() const;

  void set_level(LogLevel level);
  void set_format(LogFormat format);

 private:
  void write_message(LogLevel level, std::string_view slug, Facts facts);

  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace inboxd::base
