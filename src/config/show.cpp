#include "config/show.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/text.hpp"
#include "config/exposure.hpp"
#include "config/secrets.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

// Characters that never change the meaning of a plain scalar, in block or flow context.
bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view{"._-/:+@=~;()"}.find(c) != std::string_view::npos;
}

bool needs_quotes(const std::string& text) {
  if (text == hidden) return false;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return true;
  if (std::string_view{"-~:="}.find(text.front()) != std::string_view::npos || text.back() == ':') return true;
  for (const char c : text) {
    if (!is_harmless(c)) return true;
  }
  return false;
}

std::string fraction_text(double value) {
  std::string out(32, '\0');
  const auto [end, error] = std::to_chars(out.data(), out.data() + out.size(), value);
  out.resize(error == std::errc{} ? static_cast<std::size_t>(end - out.data()) : 0);
  return out;
}

std::string start_text(const Description& about, const StartAt& start) {
  switch (start.kind) {
    case StartAt::Kind::beginning:
      return "beginning";
    case StartAt::Kind::committed:
      return "committed";
    case StartAt::Kind::time:
      return time_text(start.time_us);
    case StartAt::Kind::end:
      break;
  }
  // Topics say `end`, handlers `now`: the second choice of each.
  return about.choices.at(1);
}

std::string number_text(const Description& about, std::int64_t number) {
  if (about.type == Type::choice) return about.choices.at(static_cast<std::size_t>(number));
  return about.type == Type::size ? size_text(number) : std::to_string(number);
}

std::string list_text(const Texts& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + yaml_scalar(text);
  return "[" + out + "]";
}

std::string map_text(const Description& about, const TextMap& map) {
  std::string out;
  for (const auto& [name, text] : map) {
    out += (out.empty() ? "" : ", ") + yaml_scalar(name) + ": " + yaml_scalar(entry_written(about, name, text));
  }
  return "{" + out + "}";
}

/// `secrets` and `key`: of the value; a value from a form is hidden, whatever its name.
void hide_within(nlohmann::ordered_json& value, const Secrets& secrets, const std::string& key) {
  std::size_t index = 0;
  for (auto& [name, inner] : value.items()) {
    const std::string inner_key =
        value.is_object() ? key + "." + name : key + "[" + std::to_string(index++) + "]";
    if (secrets.contains(inner_key) || (value.is_object() && may_be_secret(name))) {
      inner = hidden;
    } else if (inner.is_string()) {
      inner = without_secrets(inner.get<std::string>());
    } else if (inner.is_structured()) {
      hide_within(inner, secrets, inner_key);
    }
  }
}

}  // namespace

std::string entry_written(const Description& about, const std::string& name, const std::string& text,
                          const Secrets& secrets, const std::string& key) {
  const bool is_secret = about.type == Type::properties ? is_secret_property(name) : may_be_secret(name);
  if (is_secret || secrets.contains(key)) return std::string{hidden};
  const auto whole = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!whole.is_structured()) return without_secrets(text);
  auto shown = whole;
  hide_within(shown, secrets, key);
  return shown == whole ? text : shown.dump();
}

bool is_from_form(const Secrets& secrets, const std::string& key, const Value& value) {
  if (std::holds_alternative<Secret>(value)) return false;
  if (secrets.contains(key)) return true;
  const auto entry = secrets.lower_bound(key + "[");
  return std::holds_alternative<Texts>(value) && entry != secrets.end() && entry->first.starts_with(key + "[");
}

std::string yaml_scalar(const std::string& text) { return needs_quotes(text) ? base::json_quote(text) : text; }

std::string rules_text(const RetryRules& rules) {
  std::string out = "[";
  for (const RetryRule& rule : rules) {
    if (out.size() > 1) out += ", ";
    out += "{error: " + yaml_scalar(rule.error) + ", then: " + std::string{word_of(rule.then)} + "}";
  }
  return out + "]";
}

std::string written(const Description& about, const Value& value) {
  struct Writer {
    const Description& about;
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return number_text(about, number); }
    std::string operator()(double fraction) const { return fraction_text(fraction); }
    std::string operator()(const std::string& text) const {
      return text.empty() ? std::string{} : yaml_scalar(without_secrets(text));
    }
    std::string operator()(std::chrono::milliseconds duration) const { return duration_text(duration); }
    std::string operator()(const Retention::Keep& keep) const { return keep ? duration_text(*keep) : "forever"; }
    std::string operator()(const StartAt& start) const { return start_text(about, start); }
    std::string operator()(const Secret& secret) const { return secret.empty() ? "" : std::string{hidden}; }
    std::string operator()(const Texts& texts) const {
      if (about.type == Type::secrets) return texts.empty() ? "" : std::string{hidden};
      return list_text(texts);
    }
    std::string operator()(const TextMap& map) const { return map_text(about, map); }
    std::string operator()(const RetryRules& rules) const { return rules_text(rules); }
  };
  return std::visit(Writer{about}, value);
}

nlohmann::json json_written(const Description& about, const Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return text->empty() ? nlohmann::json{} : nlohmann::json(without_secrets(*text));
  }
  if (const auto* const texts = std::get_if<Texts>(&value); texts != nullptr && about.type != Type::secrets) {
    return *texts;
  }
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* const fraction = std::get_if<double>(&value)) return *fraction;
  if (about.type == Type::number) return std::get<std::int64_t>(value);
  if (const auto* const rules = std::get_if<RetryRules>(&value)) {
    auto out = nlohmann::json::array();
    for (const RetryRule& rule : *rules) out.push_back({{"error", rule.error}, {"then", word_of(rule.then)}});
    return out;
  }
  if (const auto* const map = std::get_if<TextMap>(&value)) {
    auto out = nlohmann::json::object();
    for (const auto& [name, entry] : *map) out[name] = entry_written(about, name, entry);
    return out;
  }
  const std::string out = written(about, value);
  return out.empty() ? nlohmann::json{} : nlohmann::json(out);
}

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
  Texts hidden_texts() const { return hider_.hidden_texts(); }

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
        add_entries(owner, *map, key);
        continue;
      }
      const Value shown = hider_.value(row.about, value, key);
      add(key, written(row.about, shown), json_written(row.about, shown));
    }
  }

  template <class Owner>
  void add_entries(const Owner& owner, const TextMap& map, const std::string& key) {
    for (const auto& [name, text] : map) {
      Exposure exposure = exposure_of_property(name);
      if constexpr (std::is_same_v<Owner, Handler>) exposure = exposure_of_setting(owner.plugin, name);
      const std::string shown = hider_.entry(exposure, text, key + "." + name);
      add(key + "." + name, yaml_scalar(shown), shown);
    }
  }

  void add(const std::string& key, std::string text, nlohmann::json json) {
    const auto origin = loaded_.origins.find(key);
    shown_.push_back({key, text.empty() ? "none" : std::move(text), std::move(json),
                      origin == loaded_.origins.end() ? Origin{} : origin->second});
  }

  const Loaded& loaded_;
  Hider hider_{loaded_.secrets};
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

Texts hidden_texts(const Loaded& loaded) {
  Collector collector{loaded};
  collector.collect();
  return collector.hidden_texts();
}

}  // namespace inboxd::config
