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

/// One `name=value` of a log line. Values are escaped when the line is written; never put a payload or a secret in.
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

/// Writes lines of a sentence and facts to stderr or the journal: `ingest: stored topic=orders new=998`. Any thread.
/// Control characters are escaped, so that a record cannot forge a line.
class Logger final {
 public:
  /// `journal` is the socket that LogFormat::journal writes to, entries with a field for each fact; where nobody
  /// listens there, lines go to stderr with the priority before them.
  Logger(LogLevel level, LogFormat format, std::string journal = "/run/systemd/journal/socket");
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  using Facts = std::initializer_list<Fact>;
  void debug(std::string_view sentence, Facts facts = {}) { write(LogLevel::debug, sentence, facts); }
  void info(std::string_view sentence, Facts facts = {}) { write(LogLevel::info, sentence, facts); }
  void warn(std::string_view sentence, Facts facts = {}) { write(LogLevel::warn, sentence, facts); }
  void error(std::string_view sentence, Facts facts = {}) { write(LogLevel::error, sentence, facts); }
  /// `kind` counts the line where its sentence is not one of ours: what a plugin says.
  void write(LogLevel level, std::string_view sentence, Facts facts, std::string_view kind = {});

  /// How many lines of each kind (its sentence) were written or kept back by the level; of debug only those written.
  struct Kind {
    LogLevel level;
    std::string sentence;
    std::uint64_t lines = 0;
  };
  std::vector<Kind> kinds() const;
  /// Lines that the journal did not take in time.
  std::uint64_t lost() const;

  void set_level(LogLevel level);
  void set_format(LogFormat format);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace inboxd::base
