#include <sstream>

#include "cli/present.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {

using operations::Document;

namespace {

std::string rules_table(const Document& rules, const Look& look) {
  if (rules.empty()) return "";
  Table table{{{"RULE"}, {"CONTRADICTIONS", Align::right}, {"", Align::left, true}}};
  for (const auto& rule : rules) {
    const bool is_kept = rule.at("contradictions") == 0;
    table.add({{text_at(rule, "rule")},
               {rule.at("is_checked").get<bool>() ? number_at(rule, "contradictions") : "not checked",
                is_kept ? Tone::good : Tone::bad},
               {text_at(rule, "about")}});
  }
  return table.text(look) + "\n";
}

std::string partitions_table(const Document& partitions, const Look& look) {
  if (partitions.empty()) return "";
  Table table{{{"PARTITION", Align::left, true},
               {"FROM", Align::right},
               {"POSITION", Align::right},
               {"LAG", Align::right},
               {"RECORDS", Align::right},
               {"EVENTS", Align::right},
               {"DUPLICATES", Align::right},
               {"QUARANTINED", Align::right},
               {"SKIPPED", Align::right},
               {"GAPS", Align::right},
               {"ABSENT", Align::right},
               {"OLD", Align::right},
               {"WRONG", Align::right}}};
  std::string problems;
  for (const auto& row : partitions) {
    const std::string name = text_at(row, "topic") + "/" + text_at(row, "partition");
    const bool is_right = row.at("contradictions") == 0;
    table.add({{name},
               {number_at(row, "from")},
               {number_at(row, "position")},
               {number_at(row, "lag")},
               {number_at(row, "records")},
               {number_at(row, "events")},
               {number_at(row, "duplicates")},
               {number_at(row, "quarantined")},
               {number_at(row, "skipped")},
               {number_at(row, "in_gaps")},
               {number_at(row, "absent")},
               {number_at(row, "not_checkable")},
               {number_at(row, "contradictions"), is_right ? Tone::good : Tone::bad}});
    const std::string problem = text_at(row, "problem");
    if (!problem.empty()) problems += in_tone(one_line(name + ": " + problem), Tone::warning, look) + "\n";
  }
  return table.text(look) + problems + "\n";
}

/// Empty: a row of no partition.
std::string place_text(const Document& found) {
  if (found.at("topic").is_null()) return "";
  std::string out = text_at(found, "topic");
  if (!found.at("partition").is_null()) out += "/" + text_at(found, "partition");
  if (!found.at("offset").is_null()) out += "/" + text_at(found, "offset");
  return out;
}

/// How much of the log was checked, after the number of contradictions.
std::string scope_text(const Document& document) {
  std::string out;
  if (!document.at("partitions").empty()) {
    const auto records = document.at("not_checkable").get<std::int64_t>();
    out += "; " + number_text(records) + (records == 1 ? " record" : " records") + " could not be checked";
  }
  const auto sample = document.at("sample").get<double>();
  if (sample < 1) {
    std::ostringstream percent;
    percent << sample * 100;
    out += "; a sample of " + percent.str() + "% of the offsets";
  }
  return out;
}

}  // namespace

std::string present_verified(const Document& document, const Look& look) {
  std::string out = rules_table(document.at("rules"), look) + partitions_table(document.at("partitions"), look);
  for (const auto& found : document.at("contradictions")) {
    std::string line = text_at(found, "rule");
    if (const auto place = place_text(found); !place.empty()) line += ": " + place;
    const bool is_message = text_at(found, "rule") == "outbox";
    if (const auto id = text_at(found, "event_id"); !id.empty()) line += (is_message ? " message " : " event ") + id;
    if (const auto handler = text_at(found, "handler"); !handler.empty()) line += " handler " + handler;
    if (const auto detail = text_at(found, "detail"); !detail.empty()) line += ": " + detail;
    out += in_tone(one_line(line), Tone::bad, look) + "\n  " + one_line(text_at(found, "remedy")) + "\n";
  }
  const auto all = document.at("found").get<std::int64_t>();
  const auto shown = static_cast<std::int64_t>(document.at("contradictions").size());
  if (all > shown) out += number_text(all - shown) + " more; raise --limit, or pass --json\n";
  for (const auto& problem : document.at("problems")) {
    out += in_tone(one_line(problem.get<std::string>()), Tone::warning, look) + "\n";
  }
  for (const auto& remark : document.at("remarks")) out += one_line(remark.get<std::string>()) + "\n";
  std::string verdict = all == 1 ? "1 contradiction" : number_text(all) + " contradictions";
  const bool is_good = document.at("ok").get<bool>();
  if (all == 0 && !is_good) verdict += ", but not everything was verified";
  verdict += scope_text(document);
  return out + in_tone(verdict, is_good ? Tone::good : Tone::bad, look) + "\n";
}

}  // namespace inboxd::cli
