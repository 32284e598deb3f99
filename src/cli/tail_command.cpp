#include <algorithm>
#include <chrono>
#include <deque>
#include <ostream>
#include <set>
#include <string>

#include "cli/command.hpp"
#include "cli/operator.hpp"
#include "cli/value_text.hpp"
#include "config/units.hpp"
#include "event/now.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using Kind = operations::Parameter::Kind;
using namespace std::chrono_literals;

constexpr auto interval = 1s;
constexpr auto overlap_us = 30'000'000;      // a row may become visible after later ones
constexpr const char* at_once = "500";       // rows of a look
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

ExitCode tail(Session& session, const operations::Arguments& arguments) {
  const auto loaded = session.load_with([](std::string_view key) { return key.starts_with("database."); });
  if (!loaded) return ExitCode::configuration;
  const bool failed = arguments.flag("failed");
  auto given = arguments.given();
  given.erase("failed");
  given["limit"] = {at_once};
  Interrupt interrupt;
  Reader reader{session, loaded->settings, interrupt};
  Shown shown;
  auto since = event::now();
  do {
    given["since"] = {config::time_text(since)};
    const auto looked_at = event::now();
    const Answer answer = reader.ask(failed ? "events failures" : "events list", given);
    if (interrupt.wait(0ms)) break;
    if (answer.code != ExitCode::done && answer.code != ExitCode::no) {
      session.say("tail: " + answer.message);
      // A database that is away comes back; anything else does not mend itself.
      if (answer.code != ExitCode::unavailable && answer.code != ExitCode::try_again) return answer.code;
      continue;
    }
    auto rows = answer.document.at(failed ? "failures" : "events");
    if (!failed) std::reverse(rows.begin(), rows.end());  // the newest come first
    for (const auto& row : rows) {
      const std::string name = failed ? text_at(row, "event_id") + text_at(row, "handler") + number_at(row, "attempt")
                                      : text_at(row, "event_id");
      if (!shown.add(name)) continue;
      const Look& look = session.output.look;
      const std::string line = failed ? failure_line(row, look) : event_line(row, look);
      session.output.out << (session.json ? row.dump() : line) << '\n';
    }
    session.output.out << std::flush;
    since = std::max(since, looked_at - overlap_us);
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
