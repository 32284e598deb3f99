// config/prometheus and config/grafana name existing metrics and are valid.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "daemon/metrics.hpp"
#include "support/promtool.hpp"

using namespace inboxd;
using namespace inboxd::daemon;
using inboxd::support::require_promtool;
using nlohmann::json;
namespace files = std::filesystem;

namespace {

files::path config_folder() {
  return files::current_path() / "config";
}

std::string content_of(const files::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::set<std::string> known_names() {
  std::set<std::string> out;
  for (const MetricRow& row : metrics_table()) {
    out.insert(row.about.name);
    if (row.about.kind != admin::Metric::Kind::histogram) continue;
    for (const char* const suffix : {"_bucket", "_sum", "_count"}) out.insert(row.about.name + suffix);
  }
  return out;
}

std::set<std::string> metrics_in(const std::string& text) {
  std::set<std::string> out;
  const std::regex metric{R"(\binboxd_[a-z_]+)"};
  for (auto at = std::sregex_iterator{text.begin(), text.end(), metric}; at != std::sregex_iterator{}; ++at) {
    out.insert(at->str());
  }
  return out;
}

/// The expressions of the dashboard's panels, each with the panel's title.
std::vector<std::pair<std::string, std::string>> expressions(const json& dashboard) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const json& panel : dashboard.at("panels")) {
    for (const json& target : panel.value("targets", json::array())) {
      out.emplace_back(panel.at("title").get<std::string>(), target.at("expr").get<std::string>());
    }
  }
  return out;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

}  // namespace

TEST_CASE("alerts and dashboard name only existing metrics, and use most of them") {
  const auto known = known_names();
  std::set<std::string> used;
  for (const char* const name : {"prometheus/alerts.yaml", "prometheus/alerts_test.yaml", "grafana/inboxd.json"}) {
    const std::string text = content_of(config_folder() / name);
    CHECK_FALSE(text.empty());
    for (const std::string& metric : metrics_in(text)) {
      CAPTURE(name, metric);
      CHECK(known.contains(metric));
      used.insert(metric);
    }
  }
  CHECK(used.size() > 25);
}

TEST_CASE("documents for operators name only existing metrics and alerts") {
  const auto known = known_names();
  const std::string rules = content_of(config_folder() / "prometheus/alerts.yaml");
  const std::regex alert{R"(\bInboxd[A-Z]\w+)"};
  int named = 0;
  for (const char* const name : {"kubernetes/README.md", "kubernetes/deployment.yaml", "prometheus/README.md",
                                 "systemd/README.md", "container/README.md"}) {
    const std::string text = content_of(config_folder() / name);
    CHECK_FALSE(text.empty());
    for (const std::string& metric : metrics_in(text)) {
      CAPTURE(name, metric);
      CHECK(known.contains(metric));
      ++named;
    }
    for (auto at = std::sregex_iterator{text.begin(), text.end(), alert}; at != std::sregex_iterator{}; ++at) {
      CAPTURE(name, at->str());
      CHECK(rules.find("- alert: " + at->str() + "\n") != std::string::npos);
      ++named;
    }
  }
  CHECK(named >= 6);
}

// fault: same id, other payload
TEST_CASE("alert rules are valid; each rule fires in its test, and not in the test without problems") {
  const auto folder = config_folder() / "prometheus";
  const std::string rules = content_of(folder / "alerts.yaml");
  const std::string tests = content_of(folder / "alerts_test.yaml");
  const std::regex alert{R"(- alert: (\w+))"};
  for (auto at = std::sregex_iterator{rules.begin(), rules.end(), alert}; at != std::sregex_iterator{}; ++at) {
    const std::string name = (*at)[1];
    CAPTURE(name);
    CHECK(tests.find("alertname: " + name + "\n        exp_alerts:") != std::string::npos);
    CHECK(tests.find("alertname: " + name + "}") != std::string::npos);
  }
  require_promtool();
  CHECK(std::system(("promtool check rules " + (folder / "alerts.yaml").string()).c_str()) == 0);
  CHECK(std::system(("promtool test rules " + (folder / "alerts_test.yaml").string()).c_str()) == 0);
}

TEST_CASE("the alert for unreachable brokers uses the errors that are counted from 0") {
  std::string errors;
  for (const char* const error : consumer::PartitionStatus::unreachable_errors) {
    errors += (errors.empty() ? "" : "|") + std::string{error};
  }
  CHECK(content_of(config_folder() / "prometheus/alerts.yaml")
            .find("inboxd_kafka_errors_total{error=~\"" + errors + "\"}") != std::string::npos);
}

TEST_CASE("panels that show only rising counters also show a new counter") {
  const json dashboard = json::parse(content_of(config_folder() / "grafana/inboxd.json"));
  int shown = 0;
  for (const auto& [title, expression] : expressions(dashboard)) {
    if (expression.find("_total") == std::string::npos || expression.find("> 0") == std::string::npos) continue;
    CAPTURE(title, expression);
    CHECK(expression.find(" unless ") != std::string::npos);
    CHECK(expression.find(" offset $__rate_interval") != std::string::npos);
    ++shown;
  }
  CHECK(shown == 3);
}

TEST_CASE("the dashboard takes the maximum by job of values that are counted in the database") {
  const std::set<std::string> counted{
      "inboxd_backlog_events",
      "inboxd_backlog_oldest_due_age_seconds",
      "inboxd_backlog_oldest_retrying_age_seconds",
      "inboxd_backfill_offsets",
      "inboxd_dead_letters",
      "inboxd_handler_paused",
      "inboxd_handler_without_instance",
      "inboxd_handler_topics_not_read",
      "inboxd_quarantined_records",
      "inboxd_vacuum_pinned_seconds",
      "inboxd_day_partitions_until_timestamp_seconds",
  };
  const std::regex gathered{R"((\w+)(?: by \(([\w, ]*)\) )?\((inboxd_\w+))"};
  const json dashboard = json::parse(content_of(config_folder() / "grafana/inboxd.json"));
  int shown = 0;
  for (const auto& [title, expression] : expressions(dashboard)) {
    CAPTURE(title, expression);
    for (auto at = std::sregex_iterator{expression.begin(), expression.end(), gathered}; at != std::sregex_iterator{};
         ++at) {
      if (!counted.contains((*at)[3])) continue;
      CHECK((*at)[1] == "max");
      CHECK((*at)[2].str().starts_with("job"));
      ++shown;
    }
  }
  CHECK(shown == 7);
}

TEST_CASE("the scrape configuration in config/prometheus/README.md is valid and has the job of the alerts") {
  const auto folder = config_folder() / "prometheus";
  const std::string text = content_of(folder / "README.md");
  const std::string begin = "```yaml\n# prometheus.yml\n";
  const auto at = text.find(begin);
  REQUIRE(at != std::string::npos);
  const std::string snippet = text.substr(at + begin.size(), text.find("```\n", at + begin.size()) - at - begin.size());
  CHECK(snippet.find("job_name: inboxd ") != std::string::npos);
  CHECK(snippet.find("authorization: {credentials_file: ") != std::string::npos);
  require_promtool();
  const auto file = files::temp_directory_path() / ("inboxd-scrape-" + std::to_string(::getpid()));
  std::ofstream{file} << snippet;
  CHECK(std::system(("promtool check config --syntax-only " + file.string()).c_str()) == 0);
  files::remove(file);
}

TEST_CASE("the dashboard and the page have the same names for the same figures") {
  std::set<std::string> titles;
  const json dashboard = json::parse(content_of(config_folder() / "grafana/inboxd.json"));
  for (const json& panel : dashboard.at("panels")) titles.insert(panel.at("title"));
  std::string page;
  for (const auto& file : files::recursive_directory_iterator{files::current_path() / "src/admin/page"}) {
    if (file.path().extension() == ".js") page += content_of(file.path());
  }
  for (const std::string name : {"Lag", "Oldest", "Failing", "Blocked keys", "Failed attempts", "Slowest call, p99"}) {
    CAPTURE(name);
    CHECK(titles.contains(name));
    CHECK(page.find('\'' + name + '\'') != std::string::npos);
  }
}

TEST_CASE("the dashboard has five rows, panels that do not overlap, and valid expressions") {
  const json dashboard = json::parse(content_of(config_folder() / "grafana/inboxd.json"));
  std::vector<std::string> rows;
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;
  for (const json& panel : dashboard.at("panels")) {
    CAPTURE(panel.at("title"));
    CHECK(ids.insert(panel.at("id").get<int>()).second);
    if (panel.at("type") == "row") rows.push_back(panel.at("title"));
    const json& place = panel.at("gridPos");
    CHECK(place.at("x").get<int>() + place.at("w").get<int>() <= 24);
    for (int x = 0; x < place.at("w"); ++x) {
      for (int y = 0; y < place.at("h"); ++y) {
        CHECK(taken.insert({place.at("x").get<int>() + x, place.at("y").get<int>() + y}).second);
      }
    }
  }
  CHECK(rows ==
        std::vector<std::string>{"Is it keeping up?", "Is it handling fast?", "Is it failing?", "What does it use?",
                                 "What does it publish?"});

  json rules = json::array();
  for (const auto& [title, expression] : expressions(dashboard)) {
    CAPTURE(title, expression);
    CHECK_FALSE(metrics_in(expression).empty());
    rules.push_back({{"record", "panel:" + std::to_string(rules.size())},
                     {"expr", replaced(expression, "$__rate_interval", "5m")}});
  }
  require_promtool();
  const auto file = files::temp_directory_path() / ("inboxd-dashboard-" + std::to_string(::getpid()));
  std::ofstream{file} << json{{"groups", {{{"name", "dashboard"}, {"rules", rules}}}}}.dump();  // JSON is YAML, too
  CHECK(std::system(("promtool check rules " + file.string()).c_str()) == 0);
  files::remove(file);
}
