#include "operations/parameters.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "config/units.hpp"

namespace inboxd::operations {
namespace {

using Kind = Parameter::Kind;

std::string shown_name(const Parameter& parameter) {
  return parameter.place == Parameter::Place::option ? "--" + parameter.name : parameter.placeholder;
}

base::Problem wrong(const Parameter& parameter, const std::string& text, const std::string& wanted) {
  return {shown_name(parameter) + ": \"" + base::escape_controls(base::shorten(text, 100)) + "\" is not " + wanted};
}

base::Result<std::int64_t> read_number(const Parameter& parameter, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < parameter.least || number > parameter.most) {
    return wrong(parameter, text,
                 "a whole number from " + std::to_string(parameter.least) + " to " + std::to_string(parameter.most));
  }
  return number;
}

base::Result<std::int64_t> read_time(const Parameter& parameter, const std::string& text, event::Microseconds now) {
  if (const auto time = config::parse_time(text)) return *time;
  if (const auto ago = config::parse_duration(text)) {
    return now - std::chrono::duration_cast<std::chrono::microseconds>(*ago).count();
  }
  return wrong(parameter, text, "a time such as 2024-01-31T12:00:00Z or a time ago such as 30m, 12h or 7d");
}

std::string as_typed(const Parameter& parameter, const std::vector<std::string>& texts) {
  if (parameter.kind == Kind::flag) return "--" + parameter.name;
  if (parameter.is_hidden) return "--" + parameter.name + " (hidden)";
  if (parameter.kind == Kind::bytes) {
    return "--" + parameter.name + " (" + std::to_string(texts.front().size()) + " bytes)";
  }
  std::string out;
  for (const std::string& text : texts) {
    if (!out.empty()) out += ' ';
    if (parameter.place == Parameter::Place::option) out += "--" + parameter.name + ' ';
    out += base::quote_if_needed(text);
  }
  return out;
}

}  // namespace

template <class T>
const T* Arguments::find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error{"no parameter --" + std::string{name}};
  if (std::holds_alternative<std::monostate>(found->second)) return nullptr;
  return &std::get<T>(found->second);
}

bool Arguments::flag(std::string_view name) const {
  const bool* const value = find<bool>(name);
  return value != nullptr && *value;
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto* const value = find<std::string>(name);
  return value == nullptr ? std::nullopt : std::optional{*value};
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  const auto* const value = find<std::vector<std::string>>(name);
  return value == nullptr ? std::vector<std::string>{} : *value;
}

std::optional<std::string> Arguments::bytes(std::string_view name) const { return text(name); }

std::optional<std::int64_t> Arguments::number(std::string_view name) const {
  const auto* const value = find<std::int64_t>(name);
  return value == nullptr ? std::nullopt : std::optional{*value};
}

std::optional<event::Microseconds> Arguments::time(std::string_view name) const { return number(name); }

void Arguments::set_flag(std::string_view name, bool value) {
  find<bool>(name);
  values_.find(name)->second = value;
  given_.erase(std::string{name});
  if (value) given_[std::string{name}] = {"true"};
}

void Arguments::set_text(std::string_view name, std::string value) {
  find<std::string>(name);
  given_[std::string{name}] = {value};
  values_.find(name)->second = std::move(value);
}

base::Result<Arguments> read_arguments(const std::vector<Parameter>& parameters,
                                       const std::map<std::string, std::vector<std::string>>& given,
                                       event::Microseconds now) {
  Arguments out;
  out.given_ = given;
  for (const Parameter& parameter : parameters) {
    auto& value = out.values_[parameter.name];
    const auto found = given.find(parameter.name);
    if (found == given.end() || found->second.empty()) {
      if (parameter.place == Parameter::Place::word) return base::Problem{parameter.placeholder + " is missing"};
      if (parameter.default_number) value = *parameter.default_number;
      continue;
    }
    for (const std::string& text : found->second) {
      if (parameter.kind != Kind::bytes && !base::is_database_text(text)) return wrong(parameter, text, "UTF-8 text");
    }
    const std::string& text = found->second.front();
    switch (parameter.kind) {
      case Kind::flag:
        value = true;
        break;
      case Kind::text:
      case Kind::bytes:
        value = text;
        break;
      case Kind::texts:
        value = found->second;
        break;
      case Kind::number:
      case Kind::time: {
        auto number = parameter.kind == Kind::number ? read_number(parameter, text) : read_time(parameter, text, now);
        if (!number) return number.problem();
        value = number.value();
        break;
      }
    }
    if (parameter.name == "yes" || parameter.name == "dry-run") continue;
    if (!out.asked_.empty()) out.asked_ += ' ';
    out.asked_ += as_typed(parameter, found->second);
  }
  return out;
}

Parameter limit_parameter(std::int64_t default_number) {
  Parameter out{"limit", Parameter::Kind::number, "show at most N rows", "N"};
  out.default_number = default_number;
  out.least = 1;
  out.most = 10'000;
  return out;
}

Parameter since_parameter(std::string help) {
  help += " at this time or later: 2024-01-31T12:00:00Z, or 2h for two hours ago";
  return {"since", Parameter::Kind::time, std::move(help), "TIME"};
}

Parameter until_parameter(std::string help) {
  help += " before this time";
  return {"until", Parameter::Kind::time, std::move(help), "TIME"};
}

Parameter rate_parameter() {
  Parameter out{"rate", Parameter::Kind::number, "at most N per second", "N"};
  out.least = 1;
  out.most = 1'000'000;
  return out;
}

std::vector<Parameter> key_parameters() {
  return {{"key", Parameter::Kind::text, "of this key", "TEXT"},
          {"key-hex", Parameter::Kind::text, "of the key with these bytes", "HEX"}};
}

Parameter dry_run_parameter() { return {"dry-run", Parameter::Kind::flag, "show the effect, change nothing"}; }

Parameter yes_parameter() { return {"yes", Parameter::Kind::flag, "do not ask for confirmation"}; }

}  // namespace inboxd::operations
