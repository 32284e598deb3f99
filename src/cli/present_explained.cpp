#include "base/text.hpp"
#include "cli/present.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {
namespace {

constexpr std::size_t max_body = 4000;

Tone tone_of_result(const std::string& result) {
  if (result == "event") return Tone::good;
  return result == "skipped" ? Tone::plain : Tone::bad;
}

std::string result_text(const Document& record) {
  const std::string result = text_at(record, "result");
  if (result == "event" || result == "skipped") return result;
  if (result == "waiting") return "waits: " + text_at(record, "detail");
  return "quarantine, " + result + ": " + text_at(record, "detail");
}

std::string handlers_text(const Document& record) {
  if (!record.contains("handlers")) return "";
  std::string out;
  for (const auto& handler : record.at("handlers")) out += (out.empty() ? "" : ", ") + handler.get<std::string>();
  return out.empty() ? "none: no handler of the configuration subscribes to it" : out;
}

std::string sheet_of(const Document& record, const Look& look) {
  Sheet sheet;
  const bool is_in_kafka = !record.at("offset").is_null();
  sheet.add("record", is_in_kafka ? place_of(record) : "a file, for topic " + text_at(record, "topic"));
  sheet.add("result", result_text(record), tone_of_result(text_at(record, "result")));
  if (record.contains("event")) {
    const Document& event = record.at("event");
    sheet.add("event_id", text_at(event, "event_id"));
    sheet.add("source_id", text_at(event, "source_id"));
    sheet.add("type", text_at(event, "event_type"));
    sheet.add("source", text_at(event, "source"));
    sheet.add("subject", text_at(event, "subject"));
    sheet.add("occurred", text_at(event, "occurred_at"));
  }
  sheet.add("key", bytes_at(record, "key"));
  sheet.add("kafka time", text_at(record, "kafka_timestamp"));
  sheet.add("handlers", handlers_text(record));
  return sheet.text(look);
}

std::string steps_table(const Document& steps, const Look& look) {
  Table table{{{"RULE"}, {"MATCHED"}, {"WHY", Align::left, true}}};
  for (const auto& step : steps) {
    const bool matched = step.at("matched").get<bool>();
    table.add({{text_at(step, "rule")},
               {matched ? "yes" : "no", matched ? Tone::good : Tone::plain},
               {text_at(step, "why")}});
  }
  return table.text(look);
}

std::string body_text(const Document& record, const Look& look) {
  if (!record.contains("body")) return "";
  std::string out = "\n" + in_tone("body, before PostgreSQL makes it jsonb", Tone::faint, look) + "\n";
  if (record.contains("body_problem")) return out + "  null: the payload is " + text_at(record, "body_problem") + "\n";
  if (record.at("body").is_null()) return out + "  null: a tombstone\n";
  const std::string body = record.at("body").get<std::string>();
  out += escaped_lines(base::shorten(body, max_body), "  ");
  if (body.size() > max_body) out += in_tone("  (--json shows all of it)", Tone::faint, look) + "\n";
  return out;
}

}  // namespace

std::string present_explained(const Document& document, const Look& look) {
  std::string out;
  for (const auto& record : document.at("records")) {
    if (!out.empty()) out += "\n";
    out += sheet_of(record, look) + "\n" + steps_table(record.at("steps"), look) + body_text(record, look);
  }
  return out;
}

}  // namespace inboxd::cli
