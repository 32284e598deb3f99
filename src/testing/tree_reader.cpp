#include "testing/tree_reader.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "config/units.hpp"
#include "testing/sample_bytes.hpp"

namespace inboxd::testing {

using config::Entry;
using config::Node;
using Kind = config::Node::Kind;

std::string at(const std::string& key, std::size_t index) { return key + "[" + std::to_string(index) + "]"; }

const Node* find(const Node& map, std::string_view name) {
  const auto found = std::ranges::find(map.entries, name, &Entry::key);
  return found == map.entries.end() ? nullptr : &found->value;
}

bool TreeReader::is_map(const Node& node, const std::string& key, std::initializer_list<const char*> known) {
  if (node.kind != Kind::map) {
    problem(node.place, key, "must be a map");
    return false;
  }
  const std::vector<std::string> names{known.begin(), known.end()};
  for (const Entry& entry : node.entries) {
    if (names.empty() || std::ranges::find(names, entry.key) != names.end()) continue;
    problem(entry.place, key.empty() ? entry.key : key + "." + entry.key,
            "unknown key" + config::did_you_mean(entry.key, names) + "; known are " + base::joined(names));
  }
  return true;
}

bool TreeReader::is_list(const Node& node, const std::string& key, std::size_t most) {
  if (node.kind != Kind::list || node.items.empty()) {
    problem(node.place, key, "must be a list with at least one entry");
    return false;
  }
  if (node.items.size() > most) problem(node.place, key, "has more than " + std::to_string(most) + " entries");
  return node.items.size() <= most;
}

std::string TreeReader::text(const Node& node, const std::string& key) {
  if (node.kind != Kind::scalar) problem(node.place, key, "must be a text");
  return node.text;
}

std::optional<std::string> TreeReader::optional_text(const Node& map, const std::string& key, const char* name) {
  const auto* const found = find(map, name);
  return found == nullptr ? std::nullopt : std::optional{text(*found, key + "." + name)};
}

std::string TreeReader::required_text(const Node& map, const std::string& key, const char* name) {
  if (find(map, name) == nullptr) problem(map.place, key + "." + name, "missing");
  return optional_text(map, key, name).value_or("");
}

std::map<std::string, std::string> TreeReader::texts(const Node& map, const std::string& key, const char* name) {
  std::map<std::string, std::string> out;
  const auto* const found = find(map, name);
  if (found == nullptr || !is_map(*found, key + "." + name, {})) return out;
  for (const Entry& entry : found->entries) out.emplace(entry.key, text(entry.value, key + "." + name));
  return out;
}

std::optional<std::int64_t> TreeReader::number(const Node& map, const std::string& key, const char* name,
                                               std::int64_t least, std::int64_t most) {
  const auto* const found = find(map, name);
  if (found == nullptr) return std::nullopt;
  std::int64_t out = 0;
  const char* const end = found->text.data() + found->text.size();
  const auto read = std::from_chars(found->text.data(), end, out);
  if (found->kind == Kind::scalar && read.ec == std::errc{} && read.ptr == end && out >= least && out <= most) {
    return out;
  }
  problem(found->place, key + "." + name,
          "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<std::int64_t> TreeReader::time(const Node& map, const std::string& key, const char* name) {
  const auto given = optional_text(map, key, name);
  if (!given) return std::nullopt;
  const auto out = config::parse_time(*given);
  if (!out) problem(map.place, key + "." + name, "must be a time, such as 2024-01-31T12:00:00Z");
  return out;
}

Sample TreeReader::sample(const Node& node) {
  return node.kind == Kind::scalar ? Sample{node.text, false} : Sample{json_of(node), true};
}

std::optional<Sample> TreeReader::optional_sample(const Node& map, const char* name) {
  const auto* const found = find(map, name);
  return found == nullptr ? std::nullopt : std::optional{sample(*found)};
}

std::string TreeReader::file_content(const Node& node, const std::string& key) {
  const std::string name = text(node, key);
  auto content = content_of((folder_ / name).string());
  if (content) return std::move(content).value();
  problem(node.place, key, content.problem().message + "; name a file relative to the file of the tests");
  return {};
}

std::vector<std::string> TreeReader::scripts(const Node& node, const std::string& key) {
  if (node.kind == Kind::map) {
    if (!is_map(node, key, {"file"})) return {};
    const auto* const file = find(node, "file");
    return file == nullptr ? std::vector<std::string>{} : std::vector{file_content(*file, key + ".file")};
  }
  if (node.kind != Kind::list) return {text(node, key)};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    for (auto& script : scripts(node.items[i], at(key, i))) out.push_back(std::move(script));
  }
  return out;
}

std::string TreeReader::handler(const Entry& entry, const std::string& key, std::string_view plugin) {
  std::vector<std::string> names;
  for (const auto& known : settings_.handlers) {
    if (plugin.empty() || known.plugin == plugin) names.push_back(known.name);
  }
  if (std::ranges::find(names, entry.key) == names.end()) {
    problem(entry.place, key + "." + entry.key,
            "the configuration has no such handler" + (plugin.empty() ? "" : " `" + std::string{plugin} + "`") +
                config::did_you_mean(entry.key, names) + "; it has " + base::joined(names, "none"));
  }
  return entry.key;
}

}  // namespace inboxd::testing
