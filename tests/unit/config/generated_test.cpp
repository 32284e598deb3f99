// The files generated from the settings table are correct, and the files in config/ are not stale.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/reference.hpp"
#include "config/settings_table.hpp"
#include "config/tree.hpp"
#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

namespace {

/// The top of the source tree, the working directory of tests.
std::filesystem::path root() {
  return std::filesystem::current_path();
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void check_file(const std::string& name, const std::string& text) {
  const auto path = root() / "config" / name;
  if (std::getenv("UPDATE_GENERATED") != nullptr) std::ofstream{path, std::ios::binary} << text;
  INFO("config/" << name << " is stale; run UPDATE_GENERATED=1 build/release/tests/unit/unit_config '[generated]'");
  CHECK((content_of(path) == text));
}

std::string uncommented(const std::string& text) {
  std::istringstream lines{text};
  std::string out;
  for (std::string line; std::getline(lines, line);) out += (line.starts_with('#') ? line.substr(1) : line) + "\n";
  return out;
}

void gather_keys(const Node& node, const std::string& path, std::vector<std::string>& out) {
  for (const Entry& entry : node.entries)
    gather_keys(entry.value, path.empty() ? entry.key : path + "." + entry.key, out);
  for (const Node& item : node.items) gather_keys(item, path + "[]", out);
  if (node.entries.empty() && (node.items.empty() || node.items[0].kind == Node::Kind::scalar)) out.push_back(path);
}

std::vector<std::string> all_keys() {
  std::vector<std::string> out;
  const Table table = settings_table();
  for (const auto& row : table.settings) out.push_back(row.about.key);
  for (const auto& row : table.topics) out.push_back("topics[]." + row.about.key);
  for (const auto& row : table.handlers) out.push_back("handlers[]." + row.about.key);
  for (const auto& row : table.handler_defaults()) out.push_back("handler_defaults." + row.about.key);
  return out;
}

}  // namespace

TEST_CASE("the generated files in config/ match the settings table", "[generated]") {
  check_file("inboxd.yaml", commented_yaml());
  check_file("inboxd.minimal.yaml", minimal_yaml());
  check_file("README.md", reference());
}

TEST_CASE("the minimal file loads, with defaults for all other keys") {
  const auto loaded = load(minimal_yaml());
  CHECK_THAT(everything_said(loaded), Equals(""));
  CHECK(loaded.settings.database.schema == "inbox");
}

TEST_CASE("the file of all keys holds comments only; uncommented, it loads with the defaults") {
  const std::string text = commented_yaml();
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) CHECK((line.empty() || line.starts_with('#')));

  FakeEnvironment environment;
  environment.variables["HOSTNAME"] = "here";
  environment.files["/run/secrets/pg"] = "secret";
  environment.files["/run/secrets/inboxd-admin"] = "secret";
  environment.files["/run/secrets/inboxd-admin-read"] = "another";
  environment.files["/run/secrets/webhook-token"] = "token";
  environment.files["/run/secrets/webhook-secret"] = "secret";
  environment.files["/run/secrets/collector"] = "Bearer secret";
  environment.files["/run/secrets/registry"] = "secret";
  environment.files["/run/secrets/registry-token"] = "secret";
  const auto loaded = load(uncommented(text), environment);
  REQUIRE_THAT(problems(loaded), Equals(""));
  const Settings& settings = loaded.settings;
  Ingest ingest;
  ingest.listen = "127.0.0.1:9480";
  ingest.tls = {"/etc/inboxd/ingest.pem", "/etc/inboxd/ingest.key", "/etc/inboxd/senders.pem"};
  CHECK(settings.ingest == ingest);
  CHECK(settings.dispatch == Dispatch{});
  CHECK(settings.retention == Retention{});
  CHECK(settings.log == Log{});
  CHECK(settings.drain == Settings{}.drain);
  Handler handler;
  handler.name = "first";
  handler.plugin = "log";
  handler.topics = {"orders"};
  handler.dead_letter_topic = "orders.DLT";
  handler.chose_order = true;
  CHECK(settings.handlers == std::vector<Handler>{handler});
  Topic topic;
  topic.name = "orders";
  topic.exclude = {"orders.*.DLT"};
  topic.deliver_at = "header:deliver-at";
  REQUIRE(settings.topics.size() == 6);
  CHECK(settings.topics[5].http.tokens == std::vector<std::string>{"token"});
  CHECK(settings.topics[0] == topic);
}

TEST_CASE("the file of all keys and the reference have every key of the table") {
  Findings findings{"inboxd.yaml"};
  const auto tree = parse_tree(uncommented(commented_yaml()), findings);
  REQUIRE(tree.has_value());
  std::vector<std::string> keys;
  gather_keys(*tree, "", keys);
  const std::string text = reference();
  for (const std::string& key : all_keys()) {
    CAPTURE(key);
    const bool is_secret = key.ends_with(".password") || key.ends_with("token") || key.ends_with(".verify.secret") ||
                           key == "tracing.authorization";
    CHECK(std::ranges::find(keys, is_secret ? key + ".file" : key) != keys.end());
    const std::string name = key.starts_with("handler_defaults.") ? key.substr(17) : key;
    CHECK_THAT(text, ContainsSubstring("`" + name + "`"));
  }
}

TEST_CASE("generated lines fit into 120 columns, and every key has a help sentence") {
  std::istringstream lines{commented_yaml() + minimal_yaml() + reference()};
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 120);
  }
  const Table table = settings_table();
  const auto check = [](const auto& rows) {
    for (const auto& row : rows) {
      CAPTURE(row.about.key);
      CHECK(row.about.help.ends_with('.'));
      CHECK(row.about.help.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZl") == 0);
    }
  };
  check(table.settings);
  check(table.topics);
  check(table.handlers);
}

TEST_CASE("the schema is JSON Schema 2020-12 with every key, its range and its default") {
  const auto document = nlohmann::json::parse(schema());
  CHECK(document.at("$schema") == "https://json-schema.org/draft/2020-12/schema");
  CHECK(document.at("additionalProperties") == false);
  CHECK(document.at("required") == nlohmann::json::array({"database", "topics", "handlers"}));
  CHECK(document.at("anyOf").at(0).at("required") == nlohmann::json::array({"kafka"}));  // or all topics are local
  const auto& batch_events = document["properties"]["ingest"]["properties"]["batch_events"];
  CHECK(batch_events.at("default") == 1000);
  CHECK(batch_events["anyOf"][0].at("maximum") == 100'000);
  for (std::string key : all_keys()) {
    CAPTURE(key);
    const nlohmann::json* group = &document;
    while (!key.empty()) {
      std::string name = key.substr(0, key.find('.'));
      key.erase(0, name.size() + 1);
      const bool is_list = name.ends_with("[]");
      if (is_list) name.resize(name.size() - 2);
      REQUIRE(group->at("properties").contains(name));
      group = &group->at("properties").at(name);
      if (is_list) group = &group->at("items");
    }
    CHECK(group->contains("description"));
  }
}
