#include "kafka/property_check.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "kafka/handle.hpp"
#include "kafka/token_file.hpp"

namespace inboxd::kafka {
namespace {

struct Tried {
  rd_kafka_conf_res_t result = RD_KAFKA_CONF_OK;
  std::string error;
};

Tried try_property(const std::string& name, const std::string& value) {
  const Conf conf{rd_kafka_conf_new()};
  std::array<char, 512> error{};
  const auto result = rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), error.data(), error.size());
  return {result, error.data()};
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\n";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return std::string{text.substr(begin, text.find_last_not_of(space) - begin + 1)};
}

/// The library's reference of its properties (CONFIGURATION.md). The library writes it only to a FILE.
std::string reference() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = ::open_memstream(&text, &size);
  if (file == nullptr) return {};
  rd_kafka_conf_properties_show(file);
  const bool is_written = std::fclose(file) == 0;
  std::string out = is_written ? std::string{text, size} : std::string{};
  std::free(text);
  return out;
}

struct Documented {
  std::string name;
  std::string kind;   ///< `C` for consumers, `P` for producers, `*` for both
  std::string range;  ///< `1 .. 3600000`, `true, false`; empty: a text
};

/// The rows `name | C/P | range | …`. If a library formats them otherwise, only the hints are missing.
std::vector<Documented> documented() {
  std::vector<Documented> out;
  std::istringstream lines{reference()};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns{line};
    std::string name, kind, range;
    if (!std::getline(columns, name, '|') || !std::getline(columns, kind, '|') || !std::getline(columns, range, '|')) {
      continue;
    }
    if (name.starts_with("Property ") || name.starts_with("---")) continue;
    out.push_back({trimmed(name), trimmed(kind), trimmed(range)});
  }
  return out;
}

/// The accepted values, if the library's own error does not name them.
std::string hint(const std::string& name, std::string_view error) {
  if (!error.starts_with("Invalid value") && !error.ends_with("empty value")) return {};
  const auto all = documented();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Documented& one) { return one.name == name; });
  return found == all.end() || found->range.empty() ? std::string{} : "; it takes " + found->range;
}

}  // namespace

bool knows_property(const std::string& name) {
  return is_token_property(name) || try_property(name, "").result != RD_KAFKA_CONF_UNKNOWN;
}

std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value) {
  if (is_token_property(name)) return refusal_of_token_property(name, value);
  const Tried tried = try_property(name, value);
  if (tried.result == RD_KAFKA_CONF_OK) return std::nullopt;
  const std::string error = trimmed(tried.error);  // some errors end with a newline
  return error + hint(name, error);
}

namespace {

/// Whether the library documents the property for clients of this kind alone.
bool is_for(const char* kind, const std::string& name) {
  static const std::vector<Documented> all = documented();
  // The library also accepts topic properties with their scope in front.
  constexpr std::string_view scope = "topic.";
  const auto is_it = [&](const Documented& one) {
    return one.name == name || (name.starts_with(scope) && one.name == std::string_view{name}.substr(scope.size()));
  };
  return std::any_of(all.begin(), all.end(), is_it) &&
         std::all_of(all.begin(), all.end(), [&](const Documented& one) { return !is_it(one) || one.kind == kind; });
}

}  // namespace

bool is_for_producers(const std::string& name) { return is_for("P", name); }
bool is_for_consumers(const std::string& name) { return is_for("C", name); }

std::vector<std::string> property_names() {
  std::vector<std::string> out{token_file, token_lifetime};
  for (Documented& one : documented()) out.push_back(std::move(one.name));
  return out;
}

}  // namespace inboxd::kafka
