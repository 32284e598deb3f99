#include "cli/present.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {

using operations::Document;

std::string present_outbox(const Document& document, const Look& look) {
  Table table{{{"NUMBER", Align::right},
               {"TOPIC"},
               {"KEY", Align::left, true},
               {"WAITING", Align::right},
               {"ATTEMPTS", Align::right},
               {"STOPPED"},
               {"DUE"},
               {"ERROR", Align::left, true}}};
  for (const auto& message : document.at("stopped")) {
    table.add({{text_at(message, "outbox_id")},
               {text_at(message, "topic")},
               {message.at("whole_topic").get<bool>() ? "(all)" : bytes_at(message, "key")},
               {number_at(message, "waiting")},
               {text_at(message, "attempts")},
               {time_at(message, "stopped_at")},
               {time_at(message, "due_at")},
               {text_at(message, "error"), Tone::bad}});
  }
  const std::string first = count_at(document, "backlog") + " to send, " + count_at(document, "waiting") +
                            " refused or behind a refused one\n";
  return in_tone(first, Tone::plain, look) + (table.empty() ? "" : table.text(look));
}

std::string present_outbox_change(const Document& document, const Look& look) {
  if (document.at("matched") == 0) return "";
  std::string out = number_at(document, "matched") + " stopped (" + counts_of(document.at("topics")) + ")";
  if (document.contains("changed")) out += ": " + number_at(document, "changed") + " changed";
  return in_tone(out, Tone::plain, look) + "\n";
}

}  // namespace inboxd::cli
