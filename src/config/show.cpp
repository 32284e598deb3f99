#include "config/show.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "config/table.hpp"
#include "config/written.hpp"

namespace inboxd::config {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t widest_value = 60;

struct Shown {
  std::string key;
  std::string text;
  nlohmann::json json;
  Origin origin;
};

/// The effective values in the order of the table.
class Collector final {
 public:
  explicit Collector(const Loaded& loaded) : loaded_{loaded} {}

  std::vector<Shown> collect() {
    const Table table = settings_table();
    const Settings& settings = loaded_.settings;
    for (const Group& group : table.groups) {
      for (std::size_t i = 0; group.name == "topics" && i < settings.topics.size(); ++i) {
        add_rows(table.topics, settings.topics[i], "topics[" + std::to_string(i) + "].", "");
      }
      for (std::size_t i = 0; group.name == "handlers" && i < settings.handlers.size(); ++i) {
        add_rows(table.handlers, settings.handlers[i], "handlers[" + std::to_string(i) + "].", "");
      }
      add_rows(table.settings, settings, "", group.name + ".");
    }
    return std::move(shown_);
  }

 private:
  template <class Owner>
  void add_rows(const std::vector<Row<Owner>>& rows, const Owner& owner, const std::string& path,
                const std::string& prefix) {
    for (const Row<Owner>& row : rows) {
      if (!row.about.key.starts_with(prefix)) continue;
      const Value value = row.get(owner);
      const std::string key = path + row.about.key;
      const auto* const map = std::get_if<TextMap>(&value);
      if (map != nullptr && !map->empty()) {
        add_entries(row.about, *map, key);
      } else {
        add(key, written(row.about, value), json_written(row.about, value));
      }
    }
  }

  void add_entries(const Description& about, const TextMap& map, const std::string& key) {
    for (const auto& [name, text] : map) {
      const std::string shown = entry_written(about, name, text);
      add(key + "." + name, yaml_scalar(shown), shown);
    }
  }

  void add(const std::string& key, std::string text, nlohmann::json json) {
    const auto origin = loaded_.origins.find(key);
    shown_.push_back({key, text.empty() ? "none" : std::move(text), std::move(json),
                      origin == loaded_.origins.end() ? Origin{} : origin->second});
  }

  const Loaded& loaded_;
  std::vector<Shown> shown_;
};

std::string origin_text(const Loaded& loaded, const Origin& origin) {
  if (origin.from == Origin::From::default_value) return "default";
  const std::string place = loaded.file + ":" + std::to_string(origin.place.line);
  return origin.from == Origin::From::file ? place : "handler_defaults " + place;
}

const char* origin_name(Origin::From from) {
  switch (from) {
    case Origin::From::file:
      return "file";
    case Origin::From::handler_defaults:
      return "handler_defaults";
    case Origin::From::default_value:
      break;
  }
  return "default";
}

}  // namespace

std::string show_text(const Loaded& loaded) {
  const std::vector<Shown> all = Collector{loaded}.collect();
  std::size_t width = 0;
  std::vector<std::string> lines;
  for (const Shown& each : all) {
    lines.push_back(base::escape_controls(each.key + ": " + each.text));
    width = std::max(width, std::min(lines.back().size(), widest_value));
  }
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    lines[i].resize(std::max(lines[i].size(), width), ' ');
    out += lines[i] + "  # " + base::escape_controls(origin_text(loaded, all[i].origin)) + "\n";
  }
  return out;
}

std::string show_json(const Loaded& loaded) {
  Json settings = Json::array();
  for (const Shown& each : Collector{loaded}.collect()) {
    Json row{{"key", each.key}, {"value", each.json}, {"text", each.text}, {"origin", origin_name(each.origin.from)}};
    if (each.origin.from != Origin::From::default_value) {
      row["line"] = each.origin.place.line;
      row["column"] = each.origin.place.column;
    }
    settings.push_back(std::move(row));
  }
  const Json document{{"file", loaded.file}, {"settings", std::move(settings)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inboxd::config
