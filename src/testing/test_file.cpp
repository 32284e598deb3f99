#include "testing/test_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <tuple>

#include "base/text.hpp"
#include "config/suggest.hpp"
#include "config/topics.hpp"
#include "config/tree.hpp"
#include "config/units.hpp"
#include "testing/sample_bytes.hpp"

namespace inboxd::testing {
namespace {

using config::Entry;
using config::Node;
using config::Place;
using Kind = config::Node::Kind;

constexpr std::size_t max_cases = 1'000, max_records = 1'000;

const std::vector<std::string> outcomes{"done", "retry", "dead", "skipped", "expired", "waiting", "parked"};

/// Reads parts of the tree. Each function reports its problems, and returns a default then.
class Reader final {
 public:
  Reader(config::Findings& findings, const config::Settings& settings, std::filesystem::path folder)
      : findings_{findings}, settings_{settings}, topics_{settings.topics}, folder_{std::move(folder)} {}

  TestFile file(const Node& root) {
    TestFile out;
    if (!is_map(root, "", {"setup", "cases"})) return out;
    if (const auto* const setup = find(root, "setup")) out.setup = scripts(*setup, "setup");
    const auto* const cases = find(root, "cases");
    if (cases == nullptr || !is_list(*cases, "cases", max_cases)) {
      if (cases == nullptr) problem({}, "cases", "missing; list the cases: `cases: [{name: …, records: […]}]`");
      return out;
    }
    for (std::size_t i = 0; i < cases->items.size(); ++i) {
      out.cases.push_back(one_case(cases->items[i], at("cases", i)));
    }
    return out;
  }

 private:
  static std::string at(const std::string& key, std::size_t index) { return key + "[" + std::to_string(index) + "]"; }
  static const Node* find(const Node& map, std::string_view name) {
    const auto found = std::ranges::find(map.entries, name, &Entry::key);
    return found == map.entries.end() ? nullptr : &found->value;
  }
  void problem(Place place, const std::string& key, std::string sentence) {
    findings_.problem(place, key, std::move(sentence));
  }

  /// A map with no other keys than `known`; none: any keys.
  bool is_map(const Node& node, const std::string& key, std::initializer_list<const char*> known) {
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
  bool is_list(const Node& node, const std::string& key, std::size_t most) {
    if (node.kind != Kind::list || node.items.empty()) {
      problem(node.place, key, "must be a list with at least one entry");
      return false;
    }
    if (node.items.size() > most) problem(node.place, key, "has more than " + std::to_string(most) + " entries");
    return node.items.size() <= most;
  }

  std::string text(const Node& node, const std::string& key) {
    if (node.kind != Kind::scalar) problem(node.place, key, "must be a text");
    return node.text;
  }
  std::optional<std::string> optional_text(const Node& map, const std::string& key, const char* name) {
    const auto* const found = find(map, name);
    return found == nullptr ? std::nullopt : std::optional{text(*found, key + "." + name)};
  }
  std::string required_text(const Node& map, const std::string& key, const char* name) {
    if (find(map, name) == nullptr) problem(map.place, key + "." + name, "missing");
    return optional_text(map, key, name).value_or("");
  }
  std::optional<std::int64_t> number(const Node& map, const std::string& key, const char* name, std::int64_t least,
                                     std::int64_t most) {
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
  Sample sample(const Node& node) {
    return node.kind == Kind::scalar ? Sample{node.text, false} : Sample{json_of(node), true};
  }
  std::optional<Sample> optional_sample(const Node& map, const char* name) {
    const auto* const found = find(map, name);
    return found == nullptr ? std::nullopt : std::optional{sample(*found)};
  }

  std::string file_content(const Node& node, const std::string& key) {
    const std::string name = text(node, key);
    auto content = content_of((folder_ / name).string());
    if (content) return std::move(content).value();
    problem(node.place, key, content.problem().message + "; name a file relative to the file of the tests");
    return {};
  }
  std::vector<std::string> scripts(const Node& node, const std::string& key) {
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

  std::string handler(const Entry& entry, const std::string& key, std::string_view plugin = "") {
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

  OwnBytes value(const Node& record, const std::string& key) {
    constexpr std::array names{"value", "base64", "hex", "file"};
    const Node* found = nullptr;
    std::string name;
    for (const char* const each : names) {
      const auto* const given = find(record, each);
      if (given != nullptr && found != nullptr) problem(given->place, key, "has a value already; keep one of the two");
      if (given != nullptr) std::tie(found, name) = std::pair{given, std::string{each}};
    }
    if (found == nullptr || found->kind == Kind::nothing) return std::nullopt;
    if (name == "value") return sample(*found).text;
    if (name == "file") return file_content(*found, key + ".file");
    const auto bytes = name == "hex" ? bytes_of_hex(text(*found, key)) : bytes_of_base64(text(*found, key));
    if (!bytes) problem(found->place, key + "." + name, "is no " + name);
    return bytes;
  }

  SampleRecord record(const Node& node, const std::string& key) {
    SampleRecord out;
    if (!is_map(node, key, {"topic", "value", "base64", "hex", "file", "key", "key_hex", "headers", "partition",
                            "offset", "timestamp", "expect"})) {
      return out;
    }
    out.topic = required_text(node, key, "topic");
    check_topic(node, key, out.topic);
    out.value = value(node, key);
    out.key = optional_text(node, key, "key");
    if (const auto digits = optional_text(node, key, "key_hex")) {
      if (out.key) problem(node.place, key, "has key and key_hex; keep one of the two");
      out.key = bytes_of_hex(*digits);
      if (!out.key) problem(node.place, key + ".key_hex", "is no hex");
    }
    const auto* const headers = find(node, "headers");
    if (headers != nullptr && is_map(*headers, key + ".headers", {})) {
      for (const Entry& entry : headers->entries) {
        const bool is_null = entry.value.kind == Kind::nothing;
        out.headers.emplace_back(entry.key, is_null ? OwnBytes{} : OwnBytes{sample(entry.value).text});
      }
    }
    out.partition = static_cast<std::int32_t>(number(node, key, "partition", 0, 100'000).value_or(0));
    out.offset = number(node, key, "offset", 0, std::numeric_limits<std::int64_t>::max() - 1);
    if (const auto time = optional_text(node, key, "timestamp")) {
      out.timestamp = config::parse_time(*time);
      if (!out.timestamp) problem(node.place, key + ".timestamp", "must be a time, such as 2024-01-31T12:00:00Z");
    }
    if (const auto* const expected = find(node, "expect")) out.expected = expected_record(*expected, key + ".expect");
    return out;
  }
  void check_topic(const Node& node, const std::string& key, const std::string& name) {
    const auto* const topic = topics_.find(name);
    if (name.empty()) return;
    if (topic == nullptr) {
      problem(node.place, key + ".topic", "no entry of topics in the configuration has the name " +
                                              base::json_quote(base::shorten(name, 100)) + " or a pattern for it");
    } else if (topic->source == config::Source::local) {
      problem(node.place, key + ".topic", "is a local topic; only records of Kafka can be tested");
    }
  }

  ExpectedRecord expected_record(const Node& node, const std::string& key) {
    ExpectedRecord out;
    if (!is_map(node, key, {"id", "type", "key", "quarantined", "stored", "handlers"})) return out;
    out.id = optional_text(node, key, "id");
    out.type = optional_text(node, key, "type");
    out.key = optional_text(node, key, "key");
    out.quarantined = optional_text(node, key, "quarantined");
    out.stored = optional_text(node, key, "stored");
    if (out.stored && *out.stored != "duplicate" && *out.stored != "skipped") {
      problem(node.place, key + ".stored", "must be duplicate or skipped");
    }
    if ((out.stored || out.quarantined) && (node.entries.size() > 1)) {
      problem(node.place, key, "such a record has no event: leave out the other keys");
    }
    const auto* const handlers = find(node, "handlers");
    if (handlers == nullptr) return out;
    out.handlers.emplace();
    const std::string name = key + ".handlers";
    for (const Node& item : handlers->items) {  // a list of names
      out.handlers->emplace(handler({text(item, name), item.place, {}}, name), ExpectedOutcome{});
    }
    if (handlers->kind == Kind::list || !is_map(*handlers, name, {})) return out;
    for (const Entry& entry : handlers->entries) {
      out.handlers->emplace(handler(entry, name), expected_outcome(entry.value, name + "." + entry.key));
    }
    return out;
  }
  ExpectedOutcome expected_outcome(const Node& node, const std::string& key) {
    ExpectedOutcome out;
    if (node.kind == Kind::map) {
      is_map(node, key, {"outcome", "error"});
      out.outcome = required_text(node, key, "outcome");
      out.error = optional_text(node, key, "error").value_or("");
    } else {
      out.outcome = text(node, key);
    }
    if (std::ranges::find(outcomes, out.outcome) == outcomes.end()) {
      problem(node.place, key, "no outcome" + config::did_you_mean(out.outcome, outcomes) + "; outcomes are " +
                                   base::joined(outcomes));
    }
    return out;
  }

  std::vector<RecordedAnswer> answers(const Node& node, const std::string& key) {
    std::vector<RecordedAnswer> out;
    if (node.kind == Kind::list) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        for (auto& each : answers(node.items[i], at(key, i))) out.push_back(std::move(each));
      }
      return out;
    }
    RecordedAnswer& answer = out.emplace_back();
    if (!is_map(node, key, {"status", "body", "headers"})) return out;
    answer.status = static_cast<int>(number(node, key, "status", 100, 599).value_or(answer.status));
    answer.body = optional_sample(node, "body").value_or(Sample{}).text;
    for (auto& [name, each] : texts(node, key, "headers")) answer.headers.emplace_back(name, each);
    return out;
  }
  std::map<std::string, std::string> texts(const Node& map, const std::string& key, const char* name) {
    std::map<std::string, std::string> out;
    const auto* const found = find(map, name);
    if (found == nullptr || !is_map(*found, key + "." + name, {})) return out;
    for (const Entry& entry : found->entries) out.emplace(entry.key, text(entry.value, key + "." + name));
    return out;
  }

  void expectations(const Node& node, const std::string& key, Case& out) {
    if (!is_map(node, key, {"query", "rows", "requests", "published"})) return;
    out.query = optional_text(node, key, "query").value_or("");
    const auto* const rows = find(node, "rows");
    if (out.query.empty() != (rows == nullptr)) problem(node.place, key, "query and rows need each other");
    if (rows != nullptr) {
      if (rows->kind != Kind::list) problem(rows->place, key + ".rows", "must be a list of lists");
      for (const Node& row : rows->items) {
        if (row.kind != Kind::list) problem(row.place, key + ".rows", "must be a list of lists");
        ExpectedRow& each = out.rows.emplace_back();
        for (const Node& cell : row.items) each.push_back(expected_cell(cell));
      }
    }
    if (const auto* const requests = find(node, "requests"); requests != nullptr && is_map(*requests, key, {})) {
      for (const Entry& entry : requests->entries) {
        auto& list = out.requests[handler(entry, key + ".requests", "http")];
        if (entry.value.kind != Kind::list) problem(entry.value.place, key + ".requests", "must be a list");
        for (const Node& item : entry.value.items) list.push_back(expected_request(item, key + ".requests"));
      }
    }
    if (const auto* const published = find(node, "published")) {
      out.published.emplace();
      if (published->kind != Kind::list) problem(published->place, key + ".published", "must be a list");
      for (const Node& item : published->items) out.published->push_back(expected_message(item, key + ".published"));
    }
  }
  /// A plain `true` is a boolean, which PostgreSQL writes as `t`.
  std::optional<Sample> expected_cell(const Node& cell) {
    if (cell.kind == Kind::nothing) return std::nullopt;
    if (!cell.quoted && cell.text == "true") return Sample{"t"};
    if (!cell.quoted && cell.text == "false") return Sample{"f"};
    return sample(cell);
  }
  ExpectedRequest expected_request(const Node& node, const std::string& key) {
    if (!is_map(node, key, {"method", "path", "body"})) return {};
    return {optional_text(node, key, "method"), optional_text(node, key, "path"), optional_sample(node, "body")};
  }
  ExpectedMessage expected_message(const Node& node, const std::string& key) {
    if (!is_map(node, key, {"topic", "key", "value", "headers"})) return {};
    return {required_text(node, key, "topic"), optional_text(node, key, "key"), optional_sample(node, "value"),
            texts(node, key, "headers")};
  }

  Case one_case(const Node& node, const std::string& key) {
    Case out;
    if (!is_map(node, key, {"name", "setup", "records", "answers", "expect"})) return out;
    out.name = required_text(node, key, "name");
    if (const auto* const setup = find(node, "setup")) out.setup = scripts(*setup, key + ".setup");
    const auto* const records = find(node, "records");
    if (records == nullptr) problem(node.place, key + ".records", "missing; list the sample records");
    if (records != nullptr && is_list(*records, key + ".records", max_records)) {
      for (std::size_t i = 0; i < records->items.size(); ++i) {
        out.records.push_back(record(records->items[i], at(key + ".records", i)));
      }
    }
    if (const auto* const given = find(node, "answers"); given != nullptr && is_map(*given, key + ".answers", {})) {
      for (const Entry& entry : given->entries) {
        out.answers[handler(entry, key + ".answers", "http")] = answers(entry.value, key + ".answers." + entry.key);
      }
    }
    if (const auto* const expected = find(node, "expect")) expectations(*expected, key + ".expect", out);
    return out;
  }

  config::Findings& findings_;
  const config::Settings& settings_;
  const config::Topics topics_;
  const std::filesystem::path folder_;
};

}  // namespace

TestFile read_test_text(const std::string& text, const std::string& path, const config::Settings& settings) {
  config::Findings findings{path};
  TestFile out;
  const auto root = config::parse_tree(text, findings);
  if (root) out = Reader{findings, settings, std::filesystem::path{path}.parent_path()}.file(*root);
  out.problems = findings.problems();
  return out;
}

TestFile read_test_file(const std::string& path, const config::Settings& settings) {
  const auto text = content_of(path);
  if (text) return read_test_text(text.value(), path, settings);
  TestFile out;
  out.problems.push_back({path, {}, "", text.problem().message});
  return out;
}

}  // namespace inboxd::testing
