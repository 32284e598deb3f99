#include <algorithm>
#include <vector>

#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

/// After a replay or release: the owner of the sequence drains it, and reads its lanes again.
constexpr const char* running_calls_first =
    "; a sequential handler continues in their partitions once its running calls there have ended";

/// With the columns by which the dead letters are grouped.
std::string groups_table(const Document& groups, const Look& look) {
  std::vector<std::string_view> shown{"dead"};
  for (const char* const name : {"handler", "error_class", "event_type"}) {
    if (groups.at(0).contains(name)) shown.push_back(name);
  }
  shown.insert(shown.end(), {"first_died_at", "last_died_at"});
  const auto has_note = [](const Document& group) { return group.contains("note") && !group.at("note").is_null(); };
  if (std::any_of(groups.begin(), groups.end(), has_note)) shown.emplace_back("note");
  return present_rows(groups, columns::dead_group, shown, look);
}

}  // namespace

std::string present_dead_list(const Document& document, const Look& look) {
  const auto& letters = document.at("dead_letters");
  if (document.at("groups").empty()) return "";
  if (letters.empty()) return groups_table(document.at("groups"), look);
  static const auto all = [] {
    std::vector<operations::Column> out{std::begin(columns::dead_letter), std::end(columns::dead_letter)};
    out.insert(out.end(), std::begin(columns::event_summary), std::end(columns::event_summary));
    return out;
  }();
  Document rows = letters;
  for (auto& row : rows) row.update(Document(row.at("event")));
  std::string out = groups_table(document.at("groups"), look) + "\n" +
                    present_rows(rows, all,
                                 {"dead_letter_id", "died_at", "handler", "event_id", "kafka", "event_type", "state",
                                  "attempts", "error_class", "last_error"},
                                 look);
  const auto total = document.at("total").get<std::int64_t>();
  const auto shown = static_cast<std::int64_t>(letters.size());
  if (total > shown) {
    out += in_tone("the newest " + number_text(shown) + " of " + number_text(total) + "; --limit shows more",
                   Tone::faint, look) +
           "\n";
  }
  return out;
}

std::string present_dead_change(const Document& document, const Look& look) {
  const auto matched = document.at("matched").get<std::int64_t>();
  if (matched == 0) return document.contains("events") ? present_candidates(document.at("events"), look) : "";
  std::string out = (document.value("more", false) ? "the first " : "") + number_text(matched) +
                    (matched == 1 ? " dead letter (" : " dead letters (") + counts_of(document.at("handlers")) + ")";
  if (document.contains("parked")) {
    out += ", with " + number_at(document, "parked") +
           (document.at("parked") == 1 ? " event parked behind" : " events parked behind");
  }
  if (document.at("dry_run").get<bool>()) return out + "\n";
  const bool replays = document.contains("replayed");
  out += ": " + number_at(document, replays ? "replayed" : "discarded") + (replays ? " replayed" : " discarded");
  if (replays && document.at("restored").get<std::int64_t>() > 0) {
    out += ", " + number_at(document, "restored") + " of them restored after a purge";
  }
  if (document.contains("released")) out += ", " + number_at(document, "released") + " parked events released";
  if (document.contains("changed_meanwhile")) {
    out += ", " + number_at(document, "changed_meanwhile") + " changed by another command meanwhile";
  }
  if (replays && document.at("replayed").get<std::int64_t>() > 0) out += running_calls_first;
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_note(const Document& document, const Look& look) {
  if (document.at("matched") == 0) return "";
  const std::string note = text_at(document, "note");
  std::string out = number_at(document, "matched") +
                    (document.at("matched") == 1 ? " dead letter (" : " dead letters (") +
                    text_at(document, "handler") + ", " + text_at(document, "error_class") + "): ";
  if (document.at("dry_run").get<bool>()) out += note.empty() ? "its note goes" : "gets the note";
  else out += note.empty() ? "the note is gone" : "noted";
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_dead_edit(const Document& document, const Look& look) {
  if (document.contains("events")) return present_candidates(document.at("events"), look);
  if (!document.contains("dead_letter_id")) return "";
  const auto size = [&](const char* key) {
    return document.at(key).is_null() ? "no payload" : bytes_text(document.at(key).get<std::int64_t>());
  };
  std::string out = "dead letter " + text_at(document, "dead_letter_id") + ", event " + text_at(document, "event_id") +
                    " for " + one_line(text_at(document, "handler")) + ", " + size("payload_size_before") + " -> " +
                    size("payload_size");
  if (document.contains("parked")) out += ", with " + number_at(document, "parked") + " events parked behind";
  if (document.contains("replayed")) out += ": " + number_at(document, "replayed") + " replayed";
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_forgotten(const Document& document, const Look& look) {
  const bool dry_run = document.at("dry_run").get<bool>();
  std::string out = number_at(document, "events") + " events, " + number_at(document, "dead_letters") +
                    " dead letters, " + number_at(document, "records") + " records in quarantine, " +
                    number_at(document, "messages") + " unsent messages" + (dry_run ? " to erase" : " erased");
  if (document.contains("skipped")) out += ", " + number_at(document, "skipped") + " pending deliveries skipped";
  if (document.at("leased") > 0) out += ", " + number_at(document, "leased") + " leased now";
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_lanes(const Document& document, const Look& look) {
  return present_rows(
      document.at("lanes"), columns::lane,
      {"handler", "key", "state", "waiting", "head_event_id", "attempts", "due_at", "last_error"}, look,
      [](std::string_view column, const Document&, Cell& cell) {
        if (column == "state") cell.tone = cell.text == "parked" ? Tone::bad : Tone::warning;
      });
}

std::string present_lanes_change(const Document& document, const Look& look) {
  const auto matched = document.at("matched").get<std::int64_t>();
  if (matched == 0) return "";
  std::string out = (document.value("more", false) ? "the first " : "") + number_text(matched) +
                    (matched == 1 ? " parked key (" : " parked keys (") + counts_of(document.at("handlers")) +
                    ") with " + number_at(document, "waiting") +
                    (document.at("waiting") == 1 ? " waiting event" : " waiting events");
  if (document.contains("released")) out += ": " + number_at(document, "released") + " released" + running_calls_first;
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_quarantine_list(const Document& document, const Look& look) {
  std::string out;
  if (document.contains("groups") && !document.at("groups").empty()) {
    out = present_rows(document.at("groups"), columns::quarantine_group,
                       {"records", "topic", "reason", "first_received_at", "last_received_at", "detail"}, look) +
          "\n";
  }
  return out + present_rows(document.at("records"), columns::quarantined_record,
                      {"quarantine_id", "received_at", "kafka", "reason", "payload_size", "detail"}, look,
                      [](std::string_view column, const Document&, Cell& cell) {
                        if (column == "reason") cell.tone = Tone::warning;
                      });
}

std::string present_quarantine(const Document& document, const Look& look) {
  std::string out;
  for (const auto& record : document.at("records")) {
    Sheet sheet;
    sheet.add("record", text_at(record, "quarantine_id"));
    sheet.add("reason", text_at(record, "reason"), Tone::warning);
    sheet.add("detail", text_at(record, "detail"));
    sheet.add("event_id", text_at(record, "event_id"));
    sheet.add("kafka", place_of(record));
    sheet.add("key", bytes_at(record, "key"));
    sheet.add("kafka time", text_at(record, "kafka_timestamp"));
    sheet.add("received", text_at(record, "received_at"));
    if (!out.empty()) out += "\n";
    out += sheet.text(look) + present_content(record, look);
  }
  return out;
}

std::string present_quarantine_change(const Document& document, const Look& look) {
  const auto matched = document.at("matched").get<std::int64_t>();
  if (matched == 0) return "";
  std::string out = (document.value("more", false) ? "the first " : "") + number_text(matched) +
                    (matched == 1 ? " record (" : " records (") + counts_of(document.at("topics")) + ")";
  if (document.contains("discarded")) out += ": " + number_at(document, "discarded") + " discarded";
  if (document.contains("events")) {
    const bool dry_run = document.at("dry_run").get<bool>();
    out += ": " + number_at(document, "events") + (dry_run ? " would become events" : " became events");
    out += ", " + number_at(document, "duplicates") + (dry_run ? " would be" : " were") + " duplicates";
    if (document.at("skipped") > 0) out += ", " + number_at(document, "skipped") + " skipped";
    const auto& still = document.at("still");
    if (!still.empty()) out += (dry_run ? "; would stay: " : "; stay: ") + counts_of(still);
  }
  if (document.contains("not_kept")) {
    out += "; " + number_at(document, "not_kept") + " more were too large to keep and cannot be retried";
  }
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_seek(const Document& document, const Look& look) {
  if (!document.contains("to")) return "";
  std::string out = one_line(text_at(document, "topic")) + "/" + text_at(document, "partition") + " from " +
                    number_at(document, "position") + " to " + number_at(document, "to") + ": ";
  if (document.at("passed_over") > 0) {
    out += number_at(document, "passed_over") + " offsets are never read";
  } else {
    out += number_at(document, "read_again") + " offsets are read again, " + number_at(document, "known") +
           " known events, at most " + number_at(document, "new_at_most") +
           " stored as new if the rules for ids (envelope, custom, value.format) are the same as then; else each "
           "record may be a new event. If Kafka has deleted some of them, the partition halts; run partitions "
           "accept-gap then";
  }
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_audit(const Document& document, const Look& look) {
  return present_rows(document.at("changes"), columns::change,
                      {"occurred_at", "actor", "operation", "target", "detail"}, look);
}

std::string present_version(const Document& document, const Look& look) {
  std::string out = "inboxd " + text_at(document, "inboxd") + "\n";
  Sheet sheet;
  for (const auto& [library, version] : document.at("libraries").items()) {
    sheet.add("  " + library, version.get<std::string>());
  }
  return out + sheet.text(look);
}

}  // namespace inboxd::cli
