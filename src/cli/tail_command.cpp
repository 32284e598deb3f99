#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <set>
#include <string>

#include "cli/command.hpp"
#include "cli/operator.hpp"
#include "cli/value_text.hpp"
#include "config/units.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using Kind = operations::Parameter::Kind;
using namespace std::chrono_literals;

constexpr auto interval = 1s;
constexpr auto overlap_us = 30'000'000;      // a row may become visible after later ones
constexpr std::size_t max_rows = 500;        // of an answer
constexpr std::size_t remembered = 100'000;  // rows that are known to be shown

/// The rows that were shown, the newest of them.
class Shown final {
 public:
  /// False: it was shown before.
  bool add(const std::string& row) {
    if (!rows_.insert(row).second) return false;
    order_.push_back(row);
    if (order_.size() > remembered) {
      rows_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }

 private:
  std::set<std::string> rows_;
  std::deque<std::string> order_;
};

std::string event_line(const Document& event, const Look& look) {
  const std::string key = event.value("key", Document{}).is_null() ? "" : " key " + one_line(bytes_at(event, "key"));
  return in_tone(time_at(event, "received_at"), Tone::faint, look) + " " + one_line(place_of(event)) + " " +
         one_line(text_at(event, "event_type")) + key + " " + in_tone(text_at(event, "event_id"), Tone::faint, look);
}

std::string failure_line(const Document& failure, const Look& look) {
  return in_tone(time_at(failure, "occurred_at"), Tone::faint, look) + " " + one_line(text_at(failure, "handler")) +
         " attempt " + number_at(failure, "attempt") + " " +
         in_tone(one_line(text_at(failure, "error_class")), Tone::bad, look) + ": " +
         one_line(text_at(failure, "message")) + " " + in_tone(text_at(failure, "event_id"), Tone::faint, look);
}

/// Follows the rows of an operation, whose newest rows come first.
class Follower final {
 public:
  Follower(Session& session, bool failed) : session_{session}, failed_{failed} {}

  /// Prints the rows that the answer before did not have. The first answer only says which rows are old.
  void show(Document rows) {
    std::size_t added = 0;
    std::reverse(rows.begin(), rows.end());
    for (const auto& row : rows) {
      if (!shown_.add(name_of(row))) continue;
      ++added;
      if (is_first_) continue;
      const Look& look = session_.output.look;
      const std::string line = failed_ ? failure_line(row, look) : event_line(row, look);
      session_.output.out << (session_.json ? row.dump() : line) << '\n';
    }
    if (added == max_rows && !is_first_) {
      session_.say("tail: there were more than " + std::to_string(max_rows) + " at once, and the oldest are left out");
    }
    if (!rows.empty()) newest_ = config::parse_time(text_at(rows.back(), failed_ ? "occurred_at" : "received_at"));
    is_first_ = false;
    session_.output.out << std::flush;
  }

  /// The time from which to ask, by the database's clock; nullopt: no row was seen.
  std::optional<std::int64_t> since() const {
    return newest_ ? std::optional{*newest_ - overlap_us} : std::nullopt;
  }

 private:
  std::string name_of(const Document& row) const {
    const std::string id = text_at(row, "event_id");
    return failed_ ? id + text_at(row, "handler") + number_at(row, "attempt") : id;
  }

  Session& session_;
  const bool failed_;
  Shown shown_;
  bool is_first_ = true;
  std::optional<std::int64_t> newest_;
};

ExitCode tail(Session& session, const operations::Arguments& arguments) {
  const auto loaded = session.load_with([](std::string_view key) { return key.starts_with("database."); });
  if (!loaded) return ExitCode::configuration;
  const bool failed = arguments.flag("failed");
  auto given = arguments.given();
  given.erase("failed");
  given["limit"] = {std::to_string(max_rows)};
  Interrupt interrupt;
  Reader reader{session, loaded->settings, interrupt};
  Follower follower{session, failed};
  do {
    if (const auto since = follower.since()) given["since"] = {config::time_text(*since)};
    const Answer answer = reader.ask(failed ? "events failures" : "events list", given);
    if (interrupt.wait(0ms)) break;
    if (answer.code == ExitCode::done || answer.code == ExitCode::no) {
      follower.show(answer.document.at(failed ? "failures" : "events"));
      continue;
    }
    session.say("tail: " + answer.message);
    // A database that is away comes back; anything else does not mend itself.
    if (answer.code != ExitCode::unavailable && answer.code != ExitCode::try_again) return answer.code;
  } while (session.output.out.good() && !interrupt.wait(interval));
  return ExitCode::done;
}

}  // namespace

Command tail_command() {
  return {"tail",
          "Follows stored events, or failed attempts, until Ctrl-C.",
          {{"tail", "each new event of all topics"},
           {"tail --handler receipt --failed", "each failed attempt of a handler"},
           {"tail --key customer-4711 --json", "a JSON document for each event of a key, for a program"}},
          {{"failed", Kind::flag, "failed attempts in place of events"},
           {"handler", Kind::text, "of this handler", "NAME"},
           {"key", Kind::text, "of this key", "KEY"},
           {"key-hex", Kind::text, "of the key with these bytes", "HEX"}},
          tail};
}

}  // namespace inboxd::cli
