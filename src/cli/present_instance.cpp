#include <algorithm>
#include <string>
#include <vector>

#include "cli/present.hpp"
#include "cli/terminal_text.hpp"
#include "cli/value_text.hpp"

namespace inboxd::cli {
namespace {

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
  Table partitions{{{"TOPIC", Align::left, true},
                    {"PARTITION", Align::right},
                    {"STATE"},
                    {"POSITION", Align::right},
                    {"LAG", Align::right},
                    {"RECEIVED", Align::right}}};
  for (const auto& one : document.at("partitions")) {
    const bool halted = text_at(one, "state") == "halted";
    partitions.add({{text_at(one, "topic")},
                    {number_at(one, "partition")},
                    {text_at(one, "state"), halted ? Tone::bad : Tone::plain},
                    {number_at(one, "position")},
                    {one.at("lag").is_null() ? "?" : number_at(one, "lag")},
                    {number_at(one, "received")}});
  }
  if (!partitions.empty()) out += "\n" + partitions.text(look);
  Table handlers{{{"HANDLER", Align::left, true},
                  {"IN FLIGHT", Align::right},
                  {"QUEUED", Align::right},
                  {"ABANDONED", Align::right},
                  {"NOW"}}};
  for (const auto& one : document.at("handlers")) {
    handlers.add({{text_at(one, "handler")},
                  {number_at(one, "in_flight")},
                  {number_at(one, "queued")},
                  {number_at(one, "abandoned_calls")},
                  {flags_of(one)}});
  }
  return handlers.empty() ? out : out + "\n" + handlers.text(look);
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
