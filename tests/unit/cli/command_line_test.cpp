// Command lines and help.
#include "cli/command_line.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <sstream>

using namespace inboxd;
using namespace inboxd::cli;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Words = std::vector<std::string>;

namespace {

Words split(const std::string& text) {
  std::istringstream in{text};
  Words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// Keeps the table that the result points into.
struct Line {
  explicit Line(const std::string& text) : outcome{parse(table, split(text))} {}

  const Parsed& parsed() const { return std::get<Parsed>(outcome); }
  const Said& said() const { return std::get<Said>(outcome); }

  std::vector<Command> table = commands();
  std::variant<Parsed, Said> outcome;
};

/// An example of the help as typed.
std::string typed(const operations::Example& example) {
  std::string out = example.command.substr(0, example.command.find(" > "));
  std::erase(out, '"');
  return out;
}

}  // namespace

TEST_CASE("a command is found with its arguments") {
  const Line line{"--config a.yaml dead replay 12 13 --error timeout* --error io --rate 50 --json"};
  CHECK(line.parsed().command->verb == "dead replay");
  CHECK(line.parsed().config_file == "a.yaml");
  CHECK(line.parsed().json);
  CHECK(line.parsed().given.at("id") == Words{"12", "13"});
  CHECK(line.parsed().given.at("error") == Words{"timeout*", "io"});
  CHECK(line.parsed().given.at("rate") == Words{"50"});
  CHECK_FALSE(line.parsed().given.contains("dry-run"));
}

TEST_CASE("--config may come after the command") {
  CHECK(Line{"status --config a.yaml"}.parsed().config_file == "a.yaml");
  CHECK(Line{"events show X --config=a.yaml"}.parsed().config_file == "a.yaml");
}

TEST_CASE("an ID may look like a command") {
  CHECK(Line{"events show status"}.parsed().given.at("id") == Words{"status"});
}

TEST_CASE("an option takes no more words than its value") {
  const Line line{"dead replay --type a 12"};
  CHECK(line.parsed().given.at("type") == Words{"a"});
  CHECK(line.parsed().given.at("id") == Words{"12"});
}

TEST_CASE("--version is the command of that name") { CHECK(Line{"--version"}.parsed().command->verb == "version"); }

TEST_CASE("a usage error ends with status 64 and names the remedy") {
  const std::map<std::string, std::string> complaints{
      {"", "a command is missing; see inboxd -h"},
      {"stats", "there is no command stats, did you mean status? See inboxd -h"},
      {"dead lst", "dead: there is no command lst, did you mean list? See inboxd dead -h"},
      {"dead", "dead: a command is missing; see inboxd dead -h"},
      {"events show", "events show: ID is required; see inboxd events show -h"},
      {"events show a b", "events show: not expected: b; see inboxd events show -h"},
      {"capacity --cores 8", "capacity: not expected: --cores 8; see inboxd capacity -h"},
      {"--config a --shards b status", "status: --config excludes --shards; see inboxd status -h"},
      {"status --wach", "status: not expected: --wach; see inboxd status -h"},
      {"status a\x1b[2J", "status: not expected: a\\x1b[2J; see inboxd status -h"}};
  for (const auto& [typed, complaint] : complaints) {
    CAPTURE(typed);
    const Line line{typed};
    CHECK(line.said().code == ExitCode::usage);
    CHECK(line.said().text == "inboxd: " + complaint + "\n");
  }
}

TEST_CASE("help opens with examples and closes with the exit statuses, for every command and every family") {
  std::set<std::string> asked{""};
  for (const Command& command : commands()) {
    asked.insert(command.verb);
    asked.insert(command.verb.substr(0, command.verb.find(' ')));
  }
  for (const std::string& verb : asked) {
    CAPTURE(verb);
    const Line line{verb + " -h"};
    CHECK(line.said().code == ExitCode::done);
    CHECK_THAT(line.said().text, StartsWith("Examples:\n  inboxd " + verb));
    CHECK_THAT(line.said().text, ContainsSubstring("Usage: inboxd" + (verb.empty() ? "" : " " + verb) + " ["));
    CHECK_THAT(line.said().text, EndsWith("64 usage error; 69 database, brokers or daemon not reached;\n"
                                          "  70 a bug, please report it; 75 temporary failure; 77 not allowed; "
                                          "78 configuration\n"));
  }
}

TEST_CASE("former verbs run the same commands, and help does not show them") {
  CHECK(Line{"shards list --topic orders"}.parsed().command->verb == "partitions list");
  CHECK(Line{"shards accept-gap orders 3"}.parsed().command->verb == "partitions accept-gap");
  CHECK(Line{"shards accept-incarnation orders"}.parsed().command->verb == "partitions accept-recreated");
  CHECK(Line{"partitions accept-incarnation orders 3"}.parsed().command->verb == "partitions accept-recreated");
  CHECK(Line{"shards accept-gap orders 3"}.parsed().given.at("partition") == Words{"3"});
  CHECK_THAT(Line{"-h"}.said().text, ContainsSubstring("\n  partitions ") && !ContainsSubstring("\n  shards "));
  CHECK_THAT(Line{"partitions -h"}.said().text,
             ContainsSubstring("accept-recreated") && !ContainsSubstring("accept-incarnation"));
  CHECK_THAT(Line{"shards -h"}.said().text, StartsWith("Examples:\n  inboxd partitions list"));
  CHECK_THAT(Line{"shards lst"}.said().text, ContainsSubstring("did you mean list?"));
}

TEST_CASE("every example of the help can be typed") {
  for (const Command& command : commands()) {
    for (const auto& example : command.examples) {
      CAPTURE(example.command);
      const Line line{typed(example)};
      REQUIRE(std::holds_alternative<Parsed>(line.outcome));
      CHECK(line.parsed().command->verb == command.verb);
      CHECK(operations::read_arguments(command.parameters, line.parsed().given, 0).ok());
    }
  }
}

TEST_CASE("every command can answer in JSON") {
  for (const Command& command : commands()) {
    CAPTURE(command.verb);
    REQUIRE_FALSE(command.examples.empty());
    const Line line{typed(command.examples.front()) + " --json"};
    REQUIRE(std::holds_alternative<Parsed>(line.outcome));
    CHECK(line.parsed().json);
  }
}
