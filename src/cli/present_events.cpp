#include "base/text.hpp"
#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

constexpr std::size_t max_payload = 4000;
constexpr std::size_t max_header = 500;

/// The producer's id, unless it is the text of event_id.
std::string source_id_of(const Document& event) {
  const std::string out = text_at(event, "source_id");
  return out == text_at(event, "event_id") ? "" : out;
}

void add_attributes(const Document& event, Sheet& sheet) {
  sheet.add("event_id", text_at(event, "event_id"));
  sheet.add("source_id", source_id_of(event));
  if (event.contains("topic")) sheet.add("kafka", place_of(event));
  sheet.add("type", text_at(event, "event_type"));
  sheet.add("source", text_at(event, "source"));
  sheet.add("subject", text_at(event, "subject"));
  sheet.add("key", bytes_at(event, "key"));
  sheet.add("occurred", text_at(event, "occurred_at"));
  sheet.add("kafka time", text_at(event, "kafka_timestamp"));
  sheet.add("received", text_at(event, "received_at"));
  sheet.add("deliver at", text_at(event, "deliver_at"));
}

Tone tone_of_state(const std::string& state) {
  if (state == "done") return Tone::good;
  if (state == "dead" || state == "parked" || state == "expired") return Tone::bad;
  if (state == "retrying") return Tone::warning;
  return Tone::plain;
}

std::string states_table(const Document& handlers, const Look& look) {
  if (handlers.empty()) return "no handler got the event\n";
  Table table{
      {{"HANDLER"}, {"STATE"}, {"ATTEMPTS", Align::right}, {"WHEN"}, {"WORKER"}, {"LAST ERROR", Align::left, true}}};
  for (const auto& handler : handlers) {
    const std::string state = text_at(handler, "state");
    const std::string finished = time_at(handler, "finished_at");
    const Document& worker = handler.at("worker");
    std::string when = finished;
    if (finished.empty() && !handler.at("due_at").is_null()) {
      const bool waits = text_at(handler, "waits_for") == "deliver_at";
      when = (state == "leased" ? "lease to " : waits ? "deliver_at " : "due ") + time_at(handler, "due_at");
    } else if (state == "waiting") {
      when = text_at(handler, "waits_for") == "window" ? "after its window closes" : "after its key's earlier events";
    }
    table.add({{text_at(handler, "handler")},
               {state, tone_of_state(state)},
               {text_at(handler, "attempts")},
               {when},
               {worker.is_null() ? "" : text_at(worker, "host") + ":" + text_at(worker, "process_id")},
               {text_at(handler, "last_error")}});
  }
  return table.text(look);
}

/// A line for each handler that has not handled the event: why, as far as that is known.
std::string pending_lines(const Document& document, const Look& look) {
  std::string out;
  const Document& event = document.at("event");
  for (const auto& handler : document.at("handlers")) {
    const std::string name = one_line(text_at(handler, "handler")), state = text_at(handler, "state");
    if (state == "missing") {
      out += in_tone(name + ": no state; see inboxd verify --against database", Tone::bad, look) + "\n";
    } else if (state == "backfill") {
      out += name + ": a back-fill has yet to deliver it; see inboxd handlers list\n";
    } else if (handler.at("finished_at").is_null()) {
      const bool is_first = handler.at("attempts") == 0 && event.contains("received_at");
      out += name + ": pending " + (is_first ? "since " + text_at(event, "received_at")
                                             : "after " + number_at(handler, "attempts") + " attempts");
      const Document reason = handler.value("paused_reason", Document{});
      out += ", " + (reason.is_null() ? state : "handler paused: " + one_line(reason.get<std::string>())) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string present_failures(const Document& document, const Look& look) {
  return present_rows(document.at("failures"), columns::failed_attempt,
                      {"occurred_at", "handler", "event_id", "attempt", "error_class", "message", "duration_seconds"},
                      look);
}

std::string present_candidates(const Document& events, const Look& look) {
  const auto adjust = [](std::string_view column, const Document&, Cell& cell) {
    if (column == "kafka" && cell.text.empty()) cell.text = "purged";
  };
  return present_rows(events, columns::event_summary, {"event_id", "kafka", "received_at", "event_type", "source"},
                      look, adjust);
}

std::string present_content(const Document& record, const Look& look) {
  std::string out;
  if (const auto headers = record.find("headers"); headers != record.end() && !headers->empty()) {
    out += in_tone("headers", Tone::faint, look) + "\n";
    for (const auto& header : *headers) {
      const bool is_null = header.at("value").is_null();
      out += "  " + one_line(bytes_at(header, "name")) + ": " +
             (is_null ? "null" : one_line(base::shorten(bytes_at(header, "value"), max_header))) + "\n";
    }
  }
  const auto size = record.find("payload_size");
  const auto payload = record.find("payload");
  if (payload == record.end() || size == record.end()) return out;
  if (size->is_null() || (payload->is_null() && *size == 0)) {
    return out + in_tone("no payload (a tombstone)", Tone::faint, look) + "\n";
  }
  out += in_tone("payload, " + bytes_text(size->get<std::int64_t>()), Tone::faint, look) + "\n";
  if (payload->is_null()) return out + "  not kept: too large\n";
  const std::string text = bytes_at(record, "payload");
  out += escaped_lines(base::shorten(text, max_payload), "  ");
  if (text.size() > max_payload) out += in_tone("  (--json shows all of it)", Tone::faint, look) + "\n";
  if (const auto decoded = record.find("decoded"); decoded != record.end()) {
    out += in_tone("decoded", Tone::faint, look) + "\n" +
           escaped_lines(base::shorten(decoded->get<std::string>(), max_payload), "  ");
  }
  return out;
}

std::string present_edit(const Document& edit, const Look& look) {
  if (edit.is_null()) return "";
  return in_tone("edited for " + one_line(text_at(edit, "handler")) + " by " + one_line(text_at(edit, "edited_by")) +
                     " at " + text_at(edit, "edited_at"),
                 Tone::warning, look) +
         "\n" + present_content(edit, look);
}

std::string present_events(const Document& document, const Look& look) {
  return present_rows(document.at("events"), columns::event_summary,
                      {"received_at", "kafka", "event_type", "event_id", "source_id", "key", "payload_size"}, look,
                      [](std::string_view column, const Document& row, Cell& cell) {
                        if (column == "source_id") cell.text = source_id_of(row);
                        if (column == "payload_size" && cell.text.empty()) cell.text = "null";
                      });
}

std::string present_event(const Document& document, const Look& look) {
  if (document.contains("events")) return present_candidates(document.at("events"), look);
  const auto& event = document.at("event");
  Sheet sheet;
  add_attributes(event, sheet);
  std::string out = sheet.text(look);
  if (event.at("is_purged").get<bool>()) {
    out += in_tone(event.contains("payload") ? "purged from the inbox; shown from the dead letter"
                                             : "purged from the inbox",
                   Tone::warning, look) +
           "\n";
  }
  out += present_content(event, look);
  for (const auto& edit : document.value("edits", Document::array())) out += present_edit(edit, look);
  out += "\n" + states_table(document.at("handlers"), look) + pending_lines(document, look);
  const std::string failures =
      present_rows(document.at("failures"), columns::failure,
                   {"occurred_at", "handler", "attempt", "duration_seconds", "error_class", "message"}, look);
  return out + (failures.empty() ? "" : "\n") + failures;
}

std::string present_event_change(const Document& document, const Look& look) {
  if (document.contains("events")) return present_candidates(document.at("events"), look);
  if (document.contains("matched")) {
    const bool is_one = document.at("matched") == 1;
    return number_at(document, "matched") + (is_one ? " event" : " events") + " of handler " +
           one_line(text_at(document, "handler")) +
           (document.at("dry_run").get<bool>() ? " would be due now\n" : is_one ? " is due now\n" : " are due now\n");
  }
  if (!document.contains("event_id")) return "";
  std::string out = "event " + text_at(document, "event_id") + " for " + one_line(text_at(document, "handler"));
  if (document.contains("retried")) return out + " is due now\n";
  if (document.contains("skipped")) return out + " is a dead letter now\n";
  out += ", ";
  out += text_at(document, "state") + " after " + number_at(document, "attempts") +
         (document.at("attempts") == 1 ? " attempt" : " attempts");
  if (!document.at("last_error").is_null()) out += ": " + one_line(text_at(document, "last_error"));
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_trace(const Document& document, const Look& look) {
  if (document.contains("events")) return present_candidates(document.at("events"), look);
  Sheet sheet;
  add_attributes(document.at("event"), sheet);
  Table table{{{"AT"}, {"HANDLER"}, {"WHAT"}, {"", Align::left, true}}};
  for (const auto& moment : document.at("timeline")) {
    table.add({{text_at(moment, "at")},
               {text_at(moment, "handler")},
               {text_at(moment, "what"), tone_of_state(text_at(moment, "what"))},
               {text_at(moment, "detail")}});
  }
  return sheet.text(look) + "\n" + table.text(look) + pending_lines(document, look);
}

std::string present_dead(const Document& document, const Look& look) {
  if (document.contains("events")) return present_candidates(document.at("events"), look);
  std::string out;
  for (const auto& letter : document.at("dead_letters")) {
    Sheet sheet;
    sheet.add("dead letter", text_at(letter, "dead_letter_id"));
    sheet.add("handler", text_at(letter, "handler"));
    sheet.add("state", text_at(letter, "state"), Tone::bad);
    sheet.add("died", text_at(letter, "died_at"));
    sheet.add("attempts", text_at(letter, "attempts"));
    sheet.add("notes", text_at(letter, "notes"));
    add_attributes(letter.at("event"), sheet);
    if (!out.empty()) out += "\n";
    out += sheet.text(look) + present_content(letter.at("event"), look) + present_edit(letter.at("edit"), look);
    const auto& reasons = letter.at("reasons");
    if (reasons.empty()) continue;
    out += "\n" + present_rows(reasons, columns::reason, {"occurred_at", "attempt", "error_class", "message"}, look);
  }
  return out;
}

}  // namespace inboxd::cli
