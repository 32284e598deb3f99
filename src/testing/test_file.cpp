#include "testing/test_file.hpp"

#include <filesystem>
#include <utility>

#include "config/tree.hpp"
#include "testing/sample_bytes.hpp"
#include "testing/sample_reader.hpp"
#include "testing/tree_reader.hpp"

namespace inboxd::testing {
namespace {

using config::Entry;
using config::Node;
using Kind = config::Node::Kind;

constexpr std::size_t max_cases = 1'000, max_records = 1'000;

/// Reads the cases of a file of tests.
class Reader final {
 public:
  explicit Reader(TreeReader& tree) : tree_{tree}, samples_{tree} {}

  TestFile file(const Node& root) {
    TestFile out;
    if (!tree_.is_map(root, "", {"setup", "cases"})) return out;
    if (const auto* const setup = find(root, "setup")) out.setup = tree_.scripts(*setup, "setup");
    const auto* const cases = find(root, "cases");
    if (cases == nullptr || !tree_.is_list(*cases, "cases", max_cases)) {
      if (cases == nullptr) tree_.problem({}, "cases", "missing; list the cases: `cases: [{name: …, records: […]}]`");
      return out;
    }
    for (std::size_t i = 0; i < cases->items.size(); ++i) {
      out.cases.push_back(one_case(cases->items[i], at("cases", i)));
    }
    return out;
  }

 private:
  std::vector<RecordedAnswer> answers(const Node& node, const std::string& key) {
    std::vector<RecordedAnswer> out;
    if (node.kind == Kind::list) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        for (auto& each : answers(node.items[i], at(key, i))) out.push_back(std::move(each));
      }
      return out;
    }
    RecordedAnswer& answer = out.emplace_back();
    if (!tree_.is_map(node, key, {"status", "body", "headers"})) return out;
    answer.status = static_cast<int>(tree_.number(node, key, "status", 100, 599).value_or(answer.status));
    answer.body = tree_.optional_sample(node, "body").value_or(Sample{}).text;
    for (auto& [name, each] : tree_.texts(node, key, "headers")) answer.headers.emplace_back(name, each);
    return out;
  }

  void expectations(const Node& node, const std::string& key, Case& out) {
    if (!tree_.is_map(node, key, {"query", "rows", "requests", "published"})) return;
    out.query = tree_.optional_text(node, key, "query").value_or("");
    const auto* const rows = find(node, "rows");
    if (out.query.empty() != (rows == nullptr)) tree_.problem(node.place, key, "query and rows need each other");
    if (rows != nullptr) {
      if (rows->kind != Kind::list) tree_.problem(rows->place, key + ".rows", "must be a list of lists");
      for (const Node& row : rows->items) {
        if (row.kind != Kind::list) tree_.problem(row.place, key + ".rows", "must be a list of lists");
        ExpectedRow& each = out.rows.emplace_back();
        for (const Node& cell : row.items) each.push_back(expected_cell(cell));
      }
    }
    if (const auto* const requests = find(node, "requests"); requests != nullptr && tree_.is_map(*requests, key, {})) {
      for (const Entry& entry : requests->entries) {
        auto& list = out.requests[tree_.handler(entry, key + ".requests", "http")];
        if (entry.value.kind != Kind::list) tree_.problem(entry.value.place, key + ".requests", "must be a list");
        for (const Node& item : entry.value.items) list.push_back(expected_request(item, key + ".requests"));
      }
    }
    if (const auto* const published = find(node, "published")) {
      out.published.emplace();
      if (published->kind != Kind::list) tree_.problem(published->place, key + ".published", "must be a list");
      for (const Node& item : published->items) out.published->push_back(expected_message(item, key + ".published"));
    }
  }
  /// A plain `true` is a boolean, which PostgreSQL writes as `t`.
  std::optional<Sample> expected_cell(const Node& cell) {
    if (cell.kind == Kind::nothing) return std::nullopt;
    if (!cell.quoted && cell.text == "true") return Sample{"t"};
    if (!cell.quoted && cell.text == "false") return Sample{"f"};
    return tree_.sample(cell);
  }
  ExpectedRequest expected_request(const Node& node, const std::string& key) {
    if (!tree_.is_map(node, key, {"method", "path", "body"})) return {};
    return {tree_.optional_text(node, key, "method"), tree_.optional_text(node, key, "path"),
            tree_.optional_sample(node, "body")};
  }
  ExpectedMessage expected_message(const Node& node, const std::string& key) {
    if (!tree_.is_map(node, key, {"topic", "key", "value", "headers"})) return {};
    return {tree_.required_text(node, key, "topic"), tree_.optional_text(node, key, "key"),
            tree_.optional_sample(node, "value"), tree_.texts(node, key, "headers")};
  }

  Case one_case(const Node& node, const std::string& key) {
    Case out;
    if (!tree_.is_map(node, key, {"name", "setup", "records", "answers", "expect"})) return out;
    out.name = tree_.required_text(node, key, "name");
    if (const auto* const setup = find(node, "setup")) out.setup = tree_.scripts(*setup, key + ".setup");
    const auto* const records = find(node, "records");
    if (records == nullptr) tree_.problem(node.place, key + ".records", "missing; list the sample records");
    if (records != nullptr && tree_.is_list(*records, key + ".records", max_records)) {
      for (std::size_t i = 0; i < records->items.size(); ++i) {
        out.records.push_back(samples_.record(records->items[i], at(key + ".records", i)));
      }
    }
    const std::string place = key + ".answers";
    if (const auto* const given = find(node, "answers"); given != nullptr && tree_.is_map(*given, place, {})) {
      for (const Entry& entry : given->entries) {
        out.answers[tree_.handler(entry, place, "http")] = answers(entry.value, place + "." + entry.key);
      }
    }
    if (const auto* const expected = find(node, "expect")) expectations(*expected, key + ".expect", out);
    return out;
  }

  TreeReader& tree_;
  SampleReader samples_;
};

}  // namespace

TestFile read_test_text(const std::string& text, const std::string& path, const config::Settings& settings) {
  config::Findings findings{path};
  TestFile out;
  const auto root = config::parse_tree(text, findings);
  TreeReader tree{findings, settings, std::filesystem::path{path}.parent_path()};
  if (root) out = Reader{tree}.file(*root);
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
