#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

/// With more partitions than this, `status` shows a line per topic.
constexpr std::size_t max_partitions = 24;

struct TopicSum {
  std::int64_t partitions = 0;
  std::int64_t position = 0;
  std::int64_t high_watermark = 0;
  std::int64_t lag = 0;
  std::int64_t halted = 0;
  const Document* unknown = nullptr;  ///< a partition with unknown lag
};

std::int64_t whole_at(const Document& document, const char* key) {
  const auto& value = document.at(key);
  return value.is_null() ? 0 : value.get<std::int64_t>();
}

bool is_lag_known(const Document& partition) { return !partition.at("lag").is_null(); }

/// The observed high watermark may be older than the position.
std::string high_text(const Document& partition) {
  if (!partition.at("is_newest").get<bool>()) return number_at(partition, "high_watermark");
  if (!is_lag_known(partition)) return "?";
  return number_text(std::max(whole_at(partition, "high_watermark"), whole_at(partition, "position")));
}

/// `? (12 min)`, with the age of the last observation.
std::string unknown_lag_text(const Document& partition) {
  const std::string age = age_at(partition, "observed_age_seconds");
  return age.empty() ? "?" : "? (" + age + ")";
}

Tone tone_of_lag(std::int64_t lag) { return lag > 0 ? Tone::warning : Tone::plain; }

Cell lag_cell(const Document& partition) {
  if (!partition.at("is_newest").get<bool>()) return {""};  // a former incarnation
  if (!is_lag_known(partition)) return {unknown_lag_text(partition), Tone::warning};
  return {number_at(partition, "lag"), tone_of_lag(whole_at(partition, "lag"))};
}

std::string sums_by_topic(const Document& partitions, const Look& look) {
  std::map<std::string, TopicSum> topics;
  for (const auto& partition : partitions) {
    TopicSum& sum = topics[text_at(partition, "topic")];
    ++sum.partitions;
    sum.position += whole_at(partition, "position");
    sum.high_watermark += whole_at(partition, "high_watermark");
    sum.lag += whole_at(partition, "lag");
    sum.halted += partition.at("halted_reason").is_null() ? 0 : 1;
    if (!is_lag_known(partition)) sum.unknown = &partition;
  }
  Table table{{{"TOPIC", Align::left, true},
               {"PARTITIONS", Align::right},
               {"POSITIONS", Align::right},
               {"HIGH", Align::right},
               {"LAG", Align::right},
               {"HALTED", Align::right}}};
  for (const auto& [topic, sum] : topics) {
    const bool is_known = sum.unknown == nullptr;
    table.add({{topic},
               {number_text(sum.partitions)},
               {number_text(sum.position)},
               {is_known ? number_text(sum.high_watermark) : "?"},
               is_known ? Cell{number_text(sum.lag), tone_of_lag(sum.lag)} : lag_cell(*sum.unknown),
               {number_text(sum.halted), sum.halted > 0 ? Tone::bad : Tone::plain}});
  }
  return table.text(look);
}

void adjust_partition(std::string_view column, const Document& partition, Cell& cell) {
  const bool is_halted = !partition.at("halted_reason").is_null();
  if (column == "high_watermark") cell.text = high_text(partition);
  if (column == "lag") cell = lag_cell(partition);
  if (column != "halted_reason") return;
  const bool is_former = !partition.at("is_newest").get<bool>();
  cell = is_halted ? Cell{"HALTED", Tone::bad} : Cell{is_former ? "former" : "", Tone::faint};
}

/// With --shards: the database of the row.
std::string shard_text(const Document& row) {
  return row.contains("shard") ? "shard " + text_at(row, "shard") + ": " : "";
}

std::string remedy_line(const std::string& remedy, const Look& look) {
  return "        remedy: " + in_tone(one_line(remedy), Tone::strong, look) + "\n";
}

std::string halted_partitions(const Document& partitions, const Look& look) {
  std::string out;
  for (const auto& partition : partitions) {
    if (partition.at("halted_reason").is_null()) continue;
    const std::string place = one_line(text_at(partition, "topic")) + "/" + text_at(partition, "partition");
    out += in_tone("HALTED  " + shard_text(partition) + place, Tone::bad, look) + " since " +
           time_at(partition, "halted_at") + ": " + one_line(text_at(partition, "halted_reason")) + "\n";
    out += remedy_line(text_at(partition, "what_to_do"), look);
  }
  return out;
}

std::string instances(const Document& list, const Look& look) {
  const auto adjust = [](std::string_view column, const Document& instance, Cell& cell) {
    if (column != "last_seen_at") return;
    const bool is_gone = instance.at("is_gone").get<bool>();
    cell = {age_at(instance, "unseen_seconds") + " ago" + (is_gone ? ", not live" : ""),
            is_gone ? Tone::bad : Tone::plain};
  };
  if (list.empty()) return in_tone("No daemon is running. None has crashed in the last 24 hours.\n", Tone::bad, look);
  return present_rows(list, columns::instance, {"host", "process_id", "version", "started_at", "last_seen_at"}, look,
                      adjust);
}

std::string window_result(const Document& window) {
  if (window.at("closed_at").is_null()) return "";
  if (window.at("is_running").get<bool>()) return "running";
  std::string out;
  if (whole_at(window, "retrying") > 0) out = number_at(window, "retrying") + " retrying";
  if (whole_at(window, "dead") > 0) out += (out.empty() ? "" : ", ") + number_at(window, "dead") + " dead";
  return out.empty() ? "done" : out;
}

/// Of batch handlers.
std::string windows(const Document& handlers, const Look& look) {
  Table table{{{"WINDOW OF", Align::left, true},
               {"NEXT CLOSE"},
               {"WAITING", Align::right},
               {"LAST CLOSE"},
               {"EVENTS", Align::right},
               {"TOOK", Align::right},
               {"RESULT", Align::left, true}}};
  for (const auto& handler : handlers) {
    const auto& window = handler.at("window");
    if (window.is_null()) continue;
    const bool is_postponed = whole_at(window, "postponed") > 0;
    const bool is_run = !handler.at("running_calls").is_null();
    const bool has_failures = whole_at(window, "retrying") + whole_at(window, "dead") > 0;
    table.add({{shard_text(handler) + text_at(handler, "handler")},
               {is_run ? time_at(window, "next_close") + (is_postponed ? " (postponed)" : "") : ""},
               {count_at(handler, "waiting")},
               {time_at(window, "closed_at")},
               {number_at(window, "events")},
               {age_at(window, "seconds")},
               {window_result(window), has_failures ? Tone::warning : Tone::plain}});
  }
  return table.empty() ? "" : table.text(look);
}

/// The daemons that configure a handler, on a single line.
std::string configured_by(const Document& document, const std::string& what_they_do, const Look& look) {
  std::vector<std::string> daemons;
  for (const auto& daemon : document.at("configured_by")) daemons.push_back(one_line(daemon.get<std::string>()));
  if (daemons.empty()) return "";
  const std::string line = "these daemons configure it, " + what_they_do + ": " + base::joined(daemons);
  return in_tone(line, Tone::faint, look) + "\n";
}

/// `2 problems, since 2026-11-26T11:31:17Z`: the earliest known beginning.
std::string first_sentence(const Document& document, const Look& look) {
  if (document.at("is_well").get<bool>()) return in_tone("no problems\n", Tone::good, look);
  const auto problems = document.at("problems").size();
  std::string since;
  for (const auto& finding : document.at("findings")) {
    if (text_at(finding, "severity") != "problem" || finding.at("since").is_null()) continue;
    const auto began = text_at(finding, "since");
    if (since.empty() || began < since) since = began;
  }
  const std::string out = std::to_string(problems) + (problems == 1 ? " problem" : " problems");
  return in_tone(out + (since.empty() ? "" : ", since " + since) + "\n", Tone::bad, look);
}

/// A line per finding, with its remedy. The halted partitions follow the line with their number.
std::string findings(const Document& document, const Look& look) {
  const auto& list = document.at("findings");
  if (list.empty()) return in_tone("all is well\n", Tone::good, look);
  std::string out = first_sentence(document, look);
  for (const auto& finding : list) {
    const bool is_problem = text_at(finding, "severity") == "problem";
    out += in_tone(is_problem ? "PROBLEM" : "remark ", is_problem ? Tone::bad : Tone::warning, look) + " " +
           shard_text(finding) + one_line(text_at(finding, "message")) + "\n";
    if (text_at(finding, "kind") == "partition_halted")
      out += halted_partitions(document.at("topics"), look);
    else if (!finding.at("remedy").is_null())
      out += remedy_line(text_at(finding, "remedy"), look);
  }
  return out;
}

/// `8 of 8`; empty if no live daemon runs the handler.
std::string calls_text(const Document& handler) {
  if (handler.at("running_calls").is_null()) return "";
  return number_at(handler, "running_calls") + " of " + number_at(handler, "concurrency");
}

std::string oldest_text(const Document& handler) {
  const auto seconds = [&](const char* key) {
    return handler.at(key).is_null() ? -1.0 : handler.at(key).get<double>();
  };
  const bool retries_longer = seconds("oldest_retrying_age_seconds") > seconds("oldest_due_age_seconds");
  return age_at(handler, retries_longer ? "oldest_retrying_age_seconds" : "oldest_due_age_seconds");
}

Cell remark_on(const Document& handler) {
  const Tone tone = handler.at("paused_reason").is_null() ? Tone::plain : Tone::bad;
  if (!handler.at("retired_at").is_null()) return {"retired", tone};
  if (tone == Tone::bad) return {"PAUSED: " + text_at(handler, "paused_reason"), tone};
  std::string out = whole_at(handler, "backfill") > 0 ? "backfill: " + number_at(handler, "backfill") + " to go" : "";
  const std::string next = time_at(handler, "next_deliver_at");
  if (!next.empty()) out += (out.empty() ? "next deliver_at " : ", next deliver_at ") + next;
  return {out};
}

void adjust_handler(std::string_view column, const Document& handler, Cell& cell) {
  if (column == "running_calls") cell.text = calls_text(handler);
  if (column == "oldest_due_age_seconds") cell.text = oldest_text(handler);
  if (column == "retrying" && whole_at(handler, "retrying") > 0) cell.tone = Tone::warning;
  if (column == "dead" && whole_at(handler, "dead") > 0) cell.tone = Tone::bad;
  if (column == "paused_reason") cell = remark_on(handler);
}

}  // namespace

std::string present_handlers(const Document& document, const Look& look) {
  if (document.at("handlers").empty()) return "no handlers; `inboxd handlers list` includes retired ones\n";
  return present_rows(document.at("handlers"), columns::handler,
                      {"handler", "due", "running_calls", "leased", "retrying", "waiting", "oldest_due_age_seconds",
                       "dead", "paused_reason"},
                      look, adjust_handler);
}

std::string present_paused(const Document& document, const Look&) {
  if (!document.contains("handler")) return "";
  const bool was_paused = document.at("was_paused").get<bool>();
  const std::string now = was_paused                           ? " is paused already: "
                          : document.at("dry_run").get<bool>() ? " would be paused: "
                                                               : " is paused: ";
  return one_line(text_at(document, "handler")) + now + one_line(text_at(document, "paused_reason")) + "\n";
}

std::string present_resumed(const Document& document, const Look&) {
  if (!document.contains("handler")) return "";
  const std::string name = one_line(text_at(document, "handler"));
  if (document.at("paused_reason").is_null()) return name + " is not paused\n";
  const std::string was = " (it was paused: " + one_line(text_at(document, "paused_reason")) + ")\n";
  if (document.at("dry_run").get<bool>()) return name + " would be resumed" + was;
  return name + (document.value("is_trying", false) ? " tries one event" : " is resumed") + was;
}

std::string present_window_closed(const Document& document, const Look& look) {
  if (!document.contains("handler")) return "";
  const bool dry_run = document.at("dry_run").get<bool>();
  std::string out = one_line(text_at(document, "handler")) + ": the window " + (dry_run ? "would close" : "closes") +
                    " with " + number_at(document, "events") + " events";
  if (document.at("is_running").get<bool>()) out += ", once the last window has ended";
  out += "\n";
  if (document.at("configured_by").empty()) {
    return out + "no running daemon configures it; the window waits for such a daemon\n";
  }
  return out + configured_by(document, "and one of them runs it", look);
}

std::string present_backfill(const Document& document, const Look& look) {
  if (!document.contains("handler")) return "";
  const std::string name = one_line(text_at(document, "handler"));
  const bool waits = document.at("configured_by").empty();
  const std::string about_waiting = "no running daemon configures it; the back-fill waits for such a daemon\n";
  if (document.at("dry_run").get<bool>()) {
    const std::string left = number_at(document, "left");
    if (document.at("cancels").get<bool>()) return name + ": would be cancelled with " + left + " offsets to go\n";
    const std::string out =
        name + ": would read " + left + " offsets at most, and deliver the events of these times and types\n";
    return out + (waits ? about_waiting : configured_by(document, "and deliver the events", look));
  }
  const std::string state = text_at(document, "state");
  std::string out = name + ": back-fill " + (state == "running" ? "runs" : state) + ", ";
  if (state == "running") {
    out += number_at(document, "left") + " of " + number_at(document, "offsets") + " offsets to go, ";
  }
  out += number_at(document, "events") + " events made pending";
  if (whole_at(document, "dead_letters") > 0) {
    out += ", " + number_at(document, "dead_letters") + " dead letters deleted";
  }
  return out + "\n" + (waits && state == "running" ? about_waiting : "");
}

std::string present_retired(const Document& document, const Look& look) {
  if (!document.contains("handler")) return "";
  const bool dry_run = document.at("dry_run").get<bool>();
  std::string out = one_line(text_at(document, "handler"));
  if (document.at("was_retired").get<bool>())
    out += " is retired already";
  else
    out += dry_run ? " would be retired" : " is retired";
  out += "; " + number_at(document, dry_run ? "events" : "dropped") + " pending events " +
         (dry_run ? "would be" : "are") + " dropped";
  const auto backfill = document.at("backfill").get<std::int64_t>();
  if (backfill > 0) out += ", and " + number_text(backfill) + " offsets of history";
  return in_tone(out, Tone::plain, look) + "\n" + configured_by(document, "and stop running it", look);
}

std::string present_restored(const Document& document, const Look& look) {
  if (!document.contains("handler")) return "";
  const std::string name = one_line(text_at(document, "handler"));
  if (!document.at("was_retired").get<bool>()) return name + " is not retired; nothing to do\n";
  const std::string will = document.at("dry_run").get<bool>() ? " would be" : " is";
  std::string out = name + will + " restored; it gets events stored from now on\n";
  if (document.at("configured_by").empty()) return out + "no running daemon configures it\n";
  return out + configured_by(document, "and run it within seconds", look);
}

std::string present_findings(const Document& status, const Look& look) { return findings(status, look); }

std::string present_daemons(const Document& status, const Look& look) {
  return instances(status.at("instances"), look);
}

std::string present_status(const Document& document, const Look& look) {
  const auto& partitions = document.at("topics");
  std::string out = findings(document, look) + "\n";
  if (partitions.empty())
    out += "no partition is ingested yet\n";
  else if (partitions.size() > max_partitions)
    out += sums_by_topic(partitions, look);
  else
    out += present_rows(partitions, columns::partition,
                        {"topic", "partition", "position", "high_watermark", "lag", "halted_reason"}, look,
                        adjust_partition);
  out += "\n" + present_handlers(document, look);
  if (const std::string of_batches = windows(document.at("handlers"), look); !of_batches.empty()) {
    out += "\n" + of_batches;
  }
  out += "\n" + instances(document.at("instances"), look);
  if (document.contains("sizes")) out += "\n" + present_sizes(document.at("sizes"), look);
  return out;
}

std::string present_partitions(const Document& document, const Look& look) {
  const auto& partitions = document.at("partitions");
  const std::string halts = halted_partitions(partitions, look);
  return present_rows(
             partitions, columns::partition,
             {"topic", "partition", "position", "high_watermark", "lag", "epoch", "accepted_gaps", "halted_reason"},
             look, adjust_partition) +
         (halts.empty() ? "" : "\n" + halts);
}

std::string present_accepted(const Document& document, const Look& look) {
  if (document.at("accepted").empty()) return "";
  const bool dry_run = document.value("dry_run", false);
  std::string out;
  for (const auto& one : document.at("accepted")) {
    const std::string place = one_line(text_at(one, "topic")) + "/" + text_at(one, "partition");
    if (one.contains("lost")) {
      out += place + ": offsets " + text_at(one, "from") + " to " + text_at(one, "to") + " (" + number_at(one, "lost") +
             ") " + (dry_run ? "would be" : "are") + " given up as lost; the next offset is " +
             text_at(one, "position") + "\n";
    } else {
      out += place + ": the new topic (" + one_line(text_at(one, "new_incarnation")) + ") " +
             (dry_run ? "would begin" : "begins") + " at 0; records of the old topic that were not ingested are lost\n";
    }
  }
  return in_tone(out, Tone::plain, look);
}

}  // namespace inboxd::cli
