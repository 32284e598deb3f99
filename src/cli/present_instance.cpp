#include <algorithm>
#include <string>
#include <vector>

#include "cli/present.hpp"
#include "cli/present_rows.hpp"
#include "cli/value_text.hpp"
#include "operations/row_columns.hpp"

namespace inboxd::cli {
namespace {

namespace columns = operations::columns;

std::string flags_of(const Document& handler) {
  std::string out;
  for (const char* const flag : {"paused", "stopped", "has_backlog"}) {
    if (handler.at(flag).get<bool>()) out += (out.empty() ? "" : ", ") + std::string{flag};
  }
  return out == "has_backlog" ? "backlog" : out;
}

constexpr std::size_t widest_setting = 60;

std::string origin_text(const Document& document, const Document& setting) {
  const std::string origin = text_at(setting, "origin");
  if (!setting.contains("line")) return origin;
  const std::string place = text_at(document, "file") + ":" + std::to_string(setting.at("line").get<std::int64_t>());
  return origin == "file" ? place : origin + " " + place;
}

}  // namespace

/// In the format of `config show` of a file.
std::string present_configuration(const Document& document, const Look&) {
  std::vector<std::string> lines;
  std::size_t width = 0;
  for (const auto& setting : document.at("settings")) {
    lines.push_back(one_line(text_at(setting, "key") + ": " + text_at(setting, "text")));
    width = std::max(width, std::min(lines.back().size(), widest_setting));
  }
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].resize(std::max(lines[i].size(), width), ' ');
    out += lines[i] + "  # " + one_line(origin_text(document, document.at("settings")[i])) + "\n";
  }
  return out;
}

std::string present_reference(const Document& document, const Look&) {
  return document.at("reference").get<std::string>();
}

std::string present_schema(const Document& document, const Look&) { return document.dump(2) + "\n"; }

std::string present_instance(const Document& document, const Look& look) {
  Sheet sheet;
  const bool is_paused = document.value("paused", false);
  sheet.add("instance", text_at(document, "instance_id"));
  sheet.add("version", text_at(document, "version"));
  sheet.add("started", time_at(document, "started_at"));
  sheet.add("group", text_at(document, "group"));
  sheet.add("state", text_at(document, "state") + (is_paused ? ", all handlers paused" : ""),
            is_paused ? Tone::warning : Tone::plain);
  std::string out = sheet.text(look);
  if (!document.contains("partitions")) return out;
  const std::string partitions =
      present_rows(document.at("partitions"), columns::partition_here,
                   {"topic", "partition", "state", "position", "lag", "received"}, look,
                   [](std::string_view column, const Document&, Cell& cell) {
                     if (column == "state" && cell.text == "halted") cell.tone = Tone::bad;
                     if (column == "lag" && cell.text.empty()) cell.text = "?";
                   });
  const std::string handlers = present_rows(document.at("handlers"), columns::handler_here,
                                            {"handler", "in_flight", "queued", "abandoned_calls", "has_backlog"}, look,
                                            [](std::string_view column, const Document& row, Cell& cell) {
                                              if (column == "has_backlog") cell.text = flags_of(row);
                                            });
  if (!partitions.empty()) out += "\n" + partitions;
  return handlers.empty() ? out : out + "\n" + handlers;
}

std::string present_instance_change(const Document& document, const Look&) {
  const bool pauses = document.at("paused").get<bool>();
  if (document.at("dry_run").get<bool>()) {
    return std::string{pauses ? "would pause" : "would resume"} + " all handlers of this instance\n";
  }
  return std::string{pauses ? "all handlers of this instance are paused"
                            : "all handlers of this instance are resumed"} +
         "\n";
}

}  // namespace inboxd::cli
