#include "config/convert.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "config/kafka_properties.hpp"
#include "config/secrets.hpp"
#include "config/suggest.hpp"
#include "config/topics.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

constexpr std::size_t max_text = 4'096;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Number>
std::optional<Value> within(const Description& about, std::optional<Number> value) {
  if (!value || *value < Number(about.least) || *value > Number(about.most)) return std::nullopt;
  return Value{*value};
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool fits(const Expression& expression, const std::string& text) {
  return text.size() <= max_text && !has_controls(text) && expression.matches(text);
}

std::optional<Value> choice_of(const Description& about, const std::string& text) {
  const auto found = std::ranges::find(about.choices, text);
  if (found == about.choices.end()) return std::nullopt;
  return Value{static_cast<std::int64_t>(found - about.choices.begin())};
}

std::optional<Value> start_of(const std::string& text, const Description& about) {
  if (choice_of(about, text)) {
    if (text == "beginning") return StartAt{StartAt::Kind::beginning, 0};
    if (text == "committed") return StartAt{StartAt::Kind::committed, 0};
    return StartAt{StartAt::Kind::end, 0};
  }
  const auto time = parse_time(text);
  return time ? std::optional<Value>{StartAt{StartAt::Kind::time, *time}} : std::nullopt;
}

/// A scalar's value, or nullopt if it does not match the description.
std::optional<Value> scalar_value(const Description& about, const std::string& text) {
  switch (about.type) {
    case Type::flag:
      return text == "true" || text == "false" ? std::optional<Value>{text == "true"} : std::nullopt;
    case Type::number:
      return within(about, parse_number<std::int64_t>(text));
    case Type::fraction: {
      const auto value = parse_number<double>(text);
      return value && std::isfinite(*value) ? within(about, value) : std::nullopt;
    }
    case Type::duration:
    case Type::keep: {
      if (about.type == Type::keep && text == "forever") return Value{Retention::Keep{}};
      const auto value = parse_duration(text);
      if (!value || value->count() < about.least || value->count() > about.most) return std::nullopt;
      return about.type == Type::keep ? Value{Retention::Keep{*value}} : Value{*value};
    }
    case Type::size:
      return within(about, parse_size(text));
    case Type::start:
      return start_of(text, about);
    case Type::choice:
      return choice_of(about, text);
    default:
      // An empty text means a missing key, which a required key does not allow.
      if (text.empty() ? about.is_required : !fits(Expression{about.pattern}, text)) return std::nullopt;
      return Value{text};
  }
}

std::string sentence_for(const Description& about, const std::string& text) {
  return "'" + base::shorten(without_secrets(text), 60) + "' is not " + wanted_by(about) +
         did_you_mean(text, about.choices);
}

/// For a node of the wrong kind.
std::string sentence_for(const Description& about, const Node& node) {
  switch (node.kind) {
    case Node::Kind::nothing:
      return "no value; remove the key, or set it to " + wanted_by(about);
    case Node::Kind::list:
      return "must be " + wanted_by(about) + ", not a list";
    case Node::Kind::map:
      return "must be " + wanted_by(about) + ", not a map";
    default:
      return "must be " + wanted_by(about);
  }
}

/// A scalar's text with environment variables replaced.
std::optional<std::string> expanded(const Node& node, const std::string& key, Reading& reading) {
  auto text = expand(node.text, reading.environment);
  if (!text) {
    reading.problem(node.place, key, text.problem().message);
    return std::nullopt;
  }
  if (text.value().find('\0') != std::string::npos) {
    reading.problem(node.place, key, "the value holds a NUL character; remove it");
    return std::nullopt;
  }
  return std::move(text).value();
}

/// A secret, or a text that came from a form of a secret. Its key is noted: it is never shown.
std::optional<Secret> noted_secret(const Node& node, const std::string& key, Reading& reading) {
  auto secret = read_secret(node, key, reading.environment, reading.findings);
  if (!secret) reading.mentioned.spoil(key);
  if (secret && is_secret_form(node)) reading.mentioned.note_secret(key, *secret);
  return secret;
}

/// A text may stand in a file, a credential or a variable. If it is left out, the default stays.
std::optional<Value> convert_form(const Description& about, const Node& node, const std::string& key,
                                  Reading& reading) {
  const auto secret = noted_secret(node, key, reading);
  if (!secret || reading.environment.leaves_out(key)) return std::nullopt;
  auto value = scalar_value(about, secret->reveal());
  if (!value) reading.problem(node.place, key, "the text that it refers to is not " + wanted_by(about));
  return value;
}

std::optional<Value> convert_scalar(const Description& about, const Node& node, const std::string& key,
                                    Reading& reading) {
  if (about.type == Type::text && is_secret_form(node)) return convert_form(about, node, key, reading);
  if (node.kind != Node::Kind::scalar) {
    reading.problem(node.place, key, sentence_for(about, node));
    return std::nullopt;
  }
  const auto text = expanded(node, key, reading);
  if (!text) return std::nullopt;
  auto value = scalar_value(about, *text);
  if (!value && about.key == "database.url") {  // it may hold a password
    reading.problem(node.place, key, "not a libpq URL of one line, such as postgresql://user@host/database");
  } else if (!value) {
    reading.problem(node.place, key, sentence_for(about, *text));
  }
  return value;
}

/// The text of a form of a secret.
std::optional<std::string> form_entry(const Node& node, const std::string& key, Reading& reading) {
  const auto secret = noted_secret(node, key, reading);
  return secret ? std::optional{secret->reveal()} : std::nullopt;
}

std::optional<Value> convert_texts(const Description& about, const Node& node, const std::string& key,
                                   Reading& reading) {
  if (node.kind != Node::Kind::list) {
    reading.problem(node.place, key, sentence_for(about, node));
    return std::nullopt;
  }
  const Expression expression{about.pattern};
  Texts out;
  for (const Node& item : node.items) {
    const std::string item_key = key + "[" + std::to_string(&item - node.items.data()) + "]";
    if (item.kind == Node::Kind::refused) continue;
    const bool is_form = is_secret_form(item);
    if (item.kind != Node::Kind::scalar && !is_form) {
      reading.problem(item.place, item_key, "an entry must be text");
      continue;
    }
    const auto text = is_form ? form_entry(item, item_key, reading) : expanded(item, item_key, reading);
    if (!text || (is_form && text->empty())) continue;  // offline
    if (text->empty() || !fits(expression, *text)) {
      const std::string shown = is_form ? "the text that it refers to" : "'" + base::shorten(*text, 60) + "'";
      reading.problem(item.place, item_key, shown + " is not " + (about.wanted.empty() ? "a text" : about.wanted));
    } else if (std::ranges::find(out, *text) != out.end()) {
      reading.problem(item.place, item_key, "'" + *text + "' is listed twice; remove one");
    } else {
      out.push_back(*text);
    }
  }
  return Value{std::move(out)};
}

/// A secret, or a list of secrets. Offline they are unknown.
std::optional<Value> convert_secrets(const Node& node, const std::string& key, Reading& reading) {
  Texts out;
  const auto add = [&](const Node& item, const std::string& item_key) {
    const auto secret = noted_secret(item, item_key, reading);
    if (secret && !secret->empty()) out.push_back(secret->reveal());
  };
  if (node.kind != Node::Kind::list) {
    add(node, key);
  } else {
    for (std::size_t i = 0; i < node.items.size(); ++i) add(node.items[i], key + "[" + std::to_string(i) + "]");
  }
  return Value{std::move(out)};
}

std::optional<RetryRule::Then> then_of(const std::string& text) {
  using Then = RetryRule::Then;
  for (const Then then : {Then::retry, Then::dead, Then::pause}) {
    if (text == word_of(then)) return then;
  }
  return std::nullopt;
}

std::optional<RetryRule> convert_rule(const Node& node, const std::string& key, Reading& reading) {
  const std::string wanted = "a rule is {error: CLASS, then: retry | dead | pause}";
  std::optional<std::string> error;
  std::optional<RetryRule::Then> then;
  for (const Entry& entry : node.entries) {
    const std::string entry_key = key + "." + entry.key;
    if (entry.value.kind == Node::Kind::refused) return std::nullopt;
    const bool is_text = entry.value.kind == Node::Kind::scalar;
    const auto text = is_text ? expanded(entry.value, entry_key, reading) : std::nullopt;
    if (is_text && !text) return std::nullopt;
    if (entry.key == "error" && text && !text->empty()) {
      error = *text;
    } else if (entry.key == "then" && text && then_of(*text)) {
      then = then_of(*text);
    } else {
      reading.problem(entry.place, entry_key, wanted);
      return std::nullopt;
    }
  }
  if (error && then) return RetryRule{*error, *then};
  reading.problem(node.place, key, wanted);
  return std::nullopt;
}

std::optional<Value> convert_rules(const Description& about, const Node& node, const std::string& key,
                                   Reading& reading) {
  if (node.kind != Node::Kind::list) {
    reading.problem(node.place, key, sentence_for(about, node));
    return std::nullopt;
  }
  RetryRules out;
  for (const Node& item : node.items) {
    if (item.kind == Node::Kind::refused) continue;
    const std::string item_key = key + "[" + std::to_string(&item - node.items.data()) + "]";
    if (auto rule = convert_rule(item, item_key, reading)) out.push_back(std::move(*rule));
  }
  return Value{std::move(out)};
}

/// Why a property with this name is refused, for any value.
std::optional<std::string> refusal_of_name(const std::string& name, const Environment& environment) {
  if (auto refusal = refusal_of_kafka_property(name)) return refusal;
  const auto& library = environment.kafka_library.refusal_of_name;
  return library ? library(name) : std::nullopt;
}

std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value,
                                            const Environment& environment) {
  if (auto refusal = refusal_of_kafka_value(name, value)) return refusal;
  const auto& library = environment.kafka_library.refusal_of_value;
  if (!library) return std::nullopt;
  // The library accepts any text for a secret, and its message may quote the value. So try an empty text: offline, the
  // secret is not even known.
  return library(name, is_secret_property(name) ? std::string{} : value);
}

/// As refusal_of, for the value of a form, which the message must not quote.
std::optional<std::string> refusal_of_hidden(const std::string& name, const std::string& value,
                                             const std::string& key, const Environment& environment) {
  if (environment.leaves_out(key) || !refusal_of_value(name, value, environment)) return std::nullopt;
  return "librdkafka or the daemon refuses the value that it refers to";
}

std::optional<Value> convert_properties(const Node& node, const std::string& key, Reading& reading) {
  TextMap out;
  for (const Entry& entry : node.entries) {
    const std::string entry_key = key + "." + entry.key;
    reading.mentioned.note(entry_key, entry.place);
    if (entry.value.kind == Node::Kind::refused) continue;
    if (const auto refusal = refusal_of_name(entry.key, reading.environment)) {
      reading.problem(entry.place, entry_key, *refusal);
      continue;
    }
    std::optional<std::string> text;
    const bool is_form = is_secret_form(entry.value);
    if (is_form || is_secret_property(entry.key)) {
      text = form_entry(entry.value, entry_key, reading);
    } else if (entry.value.kind == Node::Kind::scalar) {
      text = expanded(entry.value, entry_key, reading);
    } else {
      reading.problem(entry.value.place, entry_key,
                      "a property is one value under a dotted name, such as security.protocol: ssl");
    }
    if (!text) continue;
    const bool is_hidden = is_form && !is_secret_property(entry.key);
    if (const auto refusal = is_hidden ? refusal_of_hidden(entry.key, *text, entry_key, reading.environment)
                                     : refusal_of_value(entry.key, *text, reading.environment)) {
      reading.problem(entry.value.place, entry_key, *refusal);
    }
    out.emplace(entry.key, std::move(*text));
  }
  return Value{std::move(out)};
}

/// A plain scalar is a JSON number or boolean if it reads like a JSON number or boolean; everything else is a string.
nlohmann::json json_scalar(const Node& node, const std::string& text) {
  if (node.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = parse_number<std::int64_t>(text)) return *whole;
  if (const auto real = parse_number<double>(text); real && std::isfinite(*real)) return *real;
  return text;
}

/// Settings whose value is a map of names that the user chooses: `environment: {env: production}` is no form.
bool is_map_of_texts(std::string_view name) {
  return name == "environment" || name == "headers" || name == "properties";
}

/// Recursion is bounded: parse_tree limits the nesting. `name`: of the setting, or the key in an enclosing map.
nlohmann::json json_of(const Node& node, std::string_view name, const std::string& key, Reading& reading) {
  if (is_secret_setting(name) || (is_secret_form(node) && !is_map_of_texts(name))) {
    const auto text = form_entry(node, key, reading);
    return text ? nlohmann::json(*text) : nlohmann::json{};
  }
  switch (node.kind) {
    case Node::Kind::scalar: {
      const auto text = expanded(node, key, reading);
      return text ? json_scalar(node, *text) : nlohmann::json{};
    }
    case Node::Kind::list: {
      auto out = nlohmann::json::array();
      for (const Node& item : node.items) {
        out.push_back(json_of(item, "", key + "[" + std::to_string(&item - node.items.data()) + "]", reading));
      }
      return out;
    }
    case Node::Kind::map: {
      auto out = nlohmann::json::object();
      for (const Entry& entry : node.entries) {
        auto value = json_of(entry.value, entry.key, key + "." + entry.key, reading);
        if (!value.is_null() || !is_secret_setting(entry.key)) out[entry.key] = std::move(value);
      }
      return out;
    }
    default:
      return {};
  }
}

/// Several secrets, such as an old and a new secret, as a JSON list.
std::optional<std::string> secrets_of(const Node& list, const std::string& key, Reading& reading) {
  auto out = nlohmann::json::array();
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string place = key + "[" + std::to_string(i) + "]";
    const auto text = form_entry(list.items[i], place, reading);
    if (!text) {
      reading.mentioned.spoil(key);
      return std::nullopt;
    }
    out.push_back(*text);
  }
  return out.dump();
}

std::optional<Value> convert_settings(const Node& node, const std::string& key, Reading& reading) {
  TextMap out;
  for (const Entry& entry : node.entries) {
    const std::string entry_key = key + "." + entry.key;
    reading.mentioned.note(entry_key, entry.place);
    std::optional<std::string> text;
    if (entry.value.kind == Node::Kind::refused) continue;
    if (is_secret_setting(entry.key) && entry.value.kind == Node::Kind::list) {
      text = secrets_of(entry.value, entry_key, reading);
    } else if (is_secret_setting(entry.key) || (is_secret_form(entry.value) && !is_map_of_texts(entry.key))) {
      text = form_entry(entry.value, entry_key, reading);
    } else if (entry.value.kind == Node::Kind::scalar) {
      text = expanded(entry.value, entry_key, reading);
      const bool is_as_written = text && *text == entry.value.text;
      const TextPlace& place = entry.value.text_place;
      reading.mentioned.note_text(entry_key, is_as_written ? place : TextPlace{place.begin});
    } else if (entry.value.kind == Node::Kind::nothing) {
      reading.problem(entry.place, entry_key, "no value; remove the setting, or set it");
    } else {
      text = json_of(entry.value, entry.key, entry_key, reading).dump();
    }
    if (text) out.emplace(entry.key, std::move(*text));
  }
  return Value{std::move(out)};
}

/// From a key to the enclosing key: `handlers[0].name`, `handlers[0]`, `handlers`.
bool go_outwards(std::string& key) {
  const std::size_t end = key.find_last_of(".[");
  if (end == std::string::npos) return false;
  key.resize(end);
  return true;
}

}  // namespace

bool Mentioned::is_spoilt(std::string key) const {
  while (!spoilt_.contains(key)) {
    if (!go_outwards(key)) return false;
  }
  return true;
}

Place Mentioned::nearest(std::string key) const {
  while (!places_.contains(key)) {
    if (!go_outwards(key)) return {1, 1};
  }
  return places_.at(key);
}

std::optional<Value> convert(const Description& about, const Node& node, const std::string& key, Reading& reading) {
  if (node.kind == Node::Kind::refused) return std::nullopt;
  const bool is_map = about.type == Type::properties || about.type == Type::plugin_settings;
  if (is_map && node.kind == Node::Kind::nothing) return std::nullopt;
  if (is_map && node.kind != Node::Kind::map) {
    reading.problem(node.place, key, sentence_for(about, node));
    return std::nullopt;
  }
  switch (about.type) {
    case Type::secret: {
      auto secret = noted_secret(node, key, reading);
      return secret ? std::optional<Value>{std::move(*secret)} : std::nullopt;
    }
    case Type::secrets:
      return convert_secrets(node, key, reading);
    case Type::texts:
      return convert_texts(about, node, key, reading);
    case Type::rules:
      return convert_rules(about, node, key, reading);
    case Type::properties:
      return convert_properties(node, key, reading);
    case Type::plugin_settings:
      return convert_settings(node, key, reading);
    default:
      return convert_scalar(about, node, key, reading);
  }
}

}  // namespace inboxd::config
