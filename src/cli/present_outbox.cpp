#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {

using operations::Document;

std::string present_outbox(const Document& document, const Look& look) {
  const auto adjust = [](std::string_view column, const Document& row, Cell& cell) {
    if (column == "error") cell.tone = Tone::bad;
    if (column == "key" && row.at("whole_topic").get<bool>()) cell.text = "(all)";
  };
  const std::string first = count_at(document, "backlog") + " to send, " + count_at(document, "waiting") +
                            " refused or waiting for a refused message\n";
  return in_tone(first, Tone::plain, look) +
         present_rows(document.at("stopped"), operations::columns::stopped_message,
                      {"outbox_id", "topic", "key", "waiting", "attempts", "stopped_at", "due_at", "error"}, look,
                      adjust);
}

std::string present_outbox_change(const Document& document, const Look& look) {
  if (document.at("matched") == 0) return "";
  std::string out = number_at(document, "matched") + " stopped (" + counts_of(document.at("topics")) + ")";
  if (document.contains("changed")) out += ": " + number_at(document, "changed") + " changed";
  return in_tone(out, Tone::plain, look) + "\n";
}

}  // namespace inboxd::cli
