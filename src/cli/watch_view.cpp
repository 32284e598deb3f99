#include "cli/watch_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

constexpr std::size_t max_rates = 40;

void add_text(WatchScreen& screen, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    screen.lines.push_back({text.substr(at, end - at), ""});
    at = end + 1;
  }
}

/// A table's lines: the first has the titles, and each further one opens `opens[i]`.
void add_table(WatchScreen& screen, const std::string& text, const std::vector<std::string>& opens) {
  const std::size_t before = screen.lines.size();
  add_text(screen, text);
  for (std::size_t i = 0; i < opens.size() && before + 1 + i < screen.lines.size(); ++i) {
    screen.lines[before + 1 + i].opens = opens[i];
  }
}

constexpr operations::Column event_column{"event_id", operations::ColumnType::uuid, "", "EVENT"};
const std::vector<operations::Column> dead_letter_columns = [] {
  std::vector<operations::Column> out{std::begin(columns::dead_letter), std::end(columns::dead_letter)};
  out.push_back(event_column);
  return out;
}();

/// Rows that open their event.
void add_events(WatchScreen& screen, const Document& rows, operations::Columns columns,
                const std::vector<std::string_view>& shown, const Look& look) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(text_at(row, "event_id"));
  if (ids.empty()) add_text(screen, "none\n");
  else add_table(screen, present_rows(rows, columns, shown, look), ids);
}

std::string rate_text(double rate) {
  return rate < 10 && rate > 0 ? std::to_string(std::round(rate * 10) / 10).substr(0, 3)
                               : number_text(std::llround(rate));
}

/// The last values of a series of `history`; NaN: unknown.
std::deque<double> last_values(const Document& series) {
  std::deque<double> out;
  for (const auto& value : series) out.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  while (out.size() > max_rates) out.pop_front();
  return out;
}

std::string series_of(const Document& history, const std::string& handler, const char* name,
                      bool as_spark) {
  if (!history.is_object() || !history.contains("handlers") || !history.at("handlers").contains(handler)) return "";
  const auto& of_handler = history.at("handlers").at(handler);
  if (!of_handler.contains(name) || of_handler.at(name).empty()) return "";
  const auto values = last_values(of_handler.at(name));
  if (as_spark) return spark_text(values);
  return std::isnan(values.back()) ? "" : rate_text(values.back());
}

std::string topics_text(const Document& status, const WatchedRates& rates, const Look& look) {
  struct Sum {
    std::int64_t partitions = 0, lag = 0, halted = 0;
    bool is_known = true;
  };
  std::map<std::string, Sum> topics;
  for (const auto& partition : status.at("topics")) {
    if (!partition.at("is_newest").get<bool>()) continue;
    Sum& sum = topics[text_at(partition, "topic")];
    ++sum.partitions;
    sum.halted += partition.at("halted_reason").is_null() ? 0 : 1;
    if (partition.at("lag").is_null()) sum.is_known = false;
    else sum.lag += partition.at("lag").get<std::int64_t>();
  }
  Table table{{{"TOPIC", Align::left, true}, {"PARTITIONS", Align::right}, {"LAG", Align::right},
               {"IN/S", Align::right}, {"LAST MINUTES"}, {"HALTED", Align::right}}};
  for (const auto& [topic, sum] : topics) {
    const auto rate = rates.by_topic().find(topic);
    const bool has_rate = rate != rates.by_topic().end() && !rate->second.empty();
    table.add({{topic},
               {number_text(sum.partitions)},
               sum.is_known ? Cell{number_text(sum.lag), sum.lag > 0 ? Tone::warning : Tone::plain}
                            : Cell{"?", Tone::warning},
               {has_rate ? rate_text(rate->second.back()) : ""},
               {has_rate ? spark_text(rate->second) : ""},
               {number_text(sum.halted), sum.halted > 0 ? Tone::bad : Tone::plain}});
  }
  return table.text(look);
}

void add_handlers(WatchScreen& screen, const Document& status, const Document& history,
                  const Look& look) {
  Table table{{{"HANDLER", Align::left, true}, {"DONE/S", Align::right}, {"LAST HOUR"}, {"DUE", Align::right},
               {"CALLS", Align::right}, {"RETRYING", Align::right}, {"WAITING", Align::right},
               {"OLDEST", Align::right}, {"DEAD", Align::right}, {"", Align::left, true}}};
  std::vector<std::string> names;
  for (const auto& handler : status.at("handlers")) {
    const std::string name = text_at(handler, "handler");
    const bool is_run = !handler.at("running_calls").is_null();
    const auto tone = [&](const char* key, Tone bad) {
      return handler.at(key).is_number() && handler.at(key).get<std::int64_t>() > 0 ? bad : Tone::plain;
    };
    table.add({{name},
               {series_of(history, name, "done_per_s", false)},
               {series_of(history, name, "done_per_s", true)},
               {count_at(handler, "due")},
               {is_run ? number_at(handler, "running_calls") + "/" + number_at(handler, "concurrency") : ""},
               {count_at(handler, "retrying"), tone("retrying", Tone::warning)},
               {count_at(handler, "waiting")},
               {age_at(handler, "oldest_due_age_seconds")},
               {count_at(handler, "dead"), tone("dead", Tone::bad)},
               handler.at("paused_reason").is_null()
                   ? Cell{""}
                   : Cell{"PAUSED: " + text_at(handler, "paused_reason"), Tone::bad}});
    names.push_back(name);
  }
  if (!names.empty()) add_table(screen, table.text(look), names);
}

}  // namespace

void WatchedRates::add(const Document& status, std::chrono::milliseconds now) {
  std::map<std::string, std::int64_t> sums;
  for (const auto& partition : status.at("topics")) {
    const auto& position = partition.at("position");
    if (position.is_number()) sums[text_at(partition, "topic")] += position.get<std::int64_t>();
  }
  const double seconds = static_cast<double>((now - last_).count()) / 1000;
  for (const auto& [topic, sum] : sums) {
    const auto before = positions_.find(topic);
    if (before == positions_.end() || seconds <= 0) continue;
    auto& rates = rates_[topic];
    rates.push_back(std::max(0.0, static_cast<double>(sum - before->second) / seconds));  // a seek goes back
    if (rates.size() > max_rates) rates.pop_front();
  }
  positions_ = std::move(sums);
  last_ = now;
}

std::string spark_text(const std::deque<double>& values) {
  static constexpr std::array<const char*, 8> steps{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double top = 0;
  for (const double value : values) top = std::fmax(top, value);  // fmax leaves NaN out
  std::string out;
  for (const double value : values) {
    if (std::isnan(value)) {
      out += " ";
      continue;
    }
    const double share = top > 0 ? std::clamp(value / top, 0.0, 1.0) : 0;
    out += steps[static_cast<std::size_t>(std::lround(share * 7))];
  }
  return out;
}

WatchScreen overview_screen(const Document& status, const Document& history,
                            const WatchedRates& rates, const Look& look) {
  WatchScreen out;
  add_text(out, present_findings(status, look));
  out.lines.push_back({});
  add_text(out, topics_text(status, rates, look));
  out.lines.push_back({});
  add_handlers(out, status, history, look);
  out.lines.push_back({});
  add_text(out, present_daemons(status, look));
  if (status.contains("sizes")) add_text(out, "\n" + present_sizes(status.at("sizes"), look));
  return out;
}

WatchScreen handler_screen(const Document& dead, const Document& failures, const Look& look) {
  WatchScreen out;
  add_text(out, in_tone("Failed attempts of the last hour", Tone::strong, look) + "\n");
  add_events(out, failures.value("failures", Document::array()), columns::failed_attempt,
             {"occurred_at", "event_id", "attempt", "error_class", "message"}, look);
  out.lines.push_back({});
  add_text(out, in_tone("Dead letters", Tone::strong, look) + "\n");
  Document letters = dead.value("dead_letters", Document::array());
  for (auto& letter : letters) letter["event_id"] = letter.at("event").at("event_id");
  add_events(out, letters, dead_letter_columns, {"dead_letter_id", "died_at", "event_id", "error_class", "last_error"},
             look);
  return out;
}

WatchScreen text_screen(const std::string& text) {
  WatchScreen out;
  add_text(out, text);
  return out;
}

std::string framed(const WatchScreen& screen, std::size_t selected, const std::string& title, const std::string& foot,
                   Terminal::Size size, const Look& look) {
  std::vector<std::size_t> openable;
  for (std::size_t i = 0; i < screen.lines.size(); ++i) {
    if (!screen.lines[i].opens.empty()) openable.push_back(i);
  }
  const std::size_t room = size.lines > 3 ? size.lines - 3 : 1;
  const std::size_t marked = openable.empty() ? screen.lines.size() : openable[std::min(selected, openable.size() - 1)];
  const std::size_t last = screen.lines.size() > room ? screen.lines.size() - room : 0;
  std::size_t first = openable.empty() ? std::min(selected, last) : 0;
  if (!openable.empty() && marked >= room) first = marked - room + 1;
  std::string out = in_tone(clipped(title, size.columns), Tone::strong, look) + "\n\n";
  for (std::size_t i = first; i < screen.lines.size() && i < first + room; ++i) {
    out += (i == marked ? "\x1b[7m" + screen.lines[i].text + "\x1b[0m" : screen.lines[i].text) + "\n";
  }
  for (std::size_t i = std::min(screen.lines.size() - first, room); i < room; ++i) out += "\n";
  return out + in_tone(clipped(foot, size.columns), Tone::faint, look);
}

}  // namespace inboxd::cli
