// The table that serves command line, HTTP and page.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "operations/operation.hpp"

using namespace inboxd::operations;

namespace {

bool has_flag(const Operation& operation, const std::string& name) {
  return std::ranges::any_of(operation.parameters, [&](const Parameter& parameter) {
    return parameter.name == name && parameter.kind == Parameter::Kind::flag;
  });
}

}  // namespace

TEST_CASE("every operation has a verb of its own, a sentence of help, an example and a function") {
  std::set<std::string> verbs;
  for (const Operation& operation : operations()) {
    CAPTURE(operation.verb);
    CHECK(verbs.insert(operation.verb).second);
    CHECK(operation.help.ends_with("."));
    CHECK(operation.function != nullptr);
    REQUIRE_FALSE(operation.examples.empty());
    for (const Example& example : operation.examples) CHECK(example.command.starts_with(operation.verb));
  }
}

TEST_CASE("every change takes dry-run and yes, no read does") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.verb);
    const bool changes = operation.permission == Permission::change;
    CHECK(has_flag(operation, "dry-run") == changes);
    CHECK(has_flag(operation, "yes") == changes);
  }
}

TEST_CASE("without a token only reads are allowed that stay cheap with any amount of data") {
  // Each of these reads an index, counts to a limit, or asks no database. Add none that scans.
  const std::set<std::string> cheap{"config reference", "config schema",   "handlers list", "history", "instance show",
                                    "migrate",          "partitions list", "status",        "version"};
  std::set<std::string> without_token;
  for (const Operation& operation : operations()) {
    if (operation.permission == Permission::read) without_token.insert(operation.verb);
  }
  CHECK(without_token == cheap);
}

TEST_CASE("an operation without a permission is as restricted as a change") {
  CHECK(Operation{}.permission == Permission::change);
}

TEST_CASE("every parameter has a help text and a placeholder") {
  for (const Operation& operation : operations()) {
    for (const Parameter& parameter : operation.parameters) {
      CAPTURE(operation.verb, parameter.name);
      CHECK_FALSE(parameter.help.empty());
      CHECK(parameter.placeholder.empty() == (parameter.kind == Parameter::Kind::flag));
      if (parameter.kind == Parameter::Kind::number) CHECK(parameter.least < parameter.most);
    }
  }
}

TEST_CASE("the version needs neither configuration nor database") {
  for (const Operation& operation : operations()) {
    if (operation.verb != "version") continue;
    CHECK(operation.needs == Needs::nothing);
    Context context;
    const auto answer = operation.function(context, Arguments{});
    CHECK(answer.document.at("inboxd") == INBOXD_VERSION);
    CHECK(answer.document.at("libraries").contains("librdkafka"));
    CHECK(answer.document.at("libraries").contains("libpqxx"));
  }
}

TEST_CASE("an operation is found by its aliases, too, and no alias is another operation's verb") {
  std::set<std::string> verbs;
  for (const Operation& operation : operations()) {
    CHECK(verbs.insert(operation.verb).second);
    for (const std::string& alias : operation.aliases) CHECK(verbs.insert(alias).second);
  }
  for (const Operation& operation : operations()) {
    CHECK(is_path_of(operation, path_of(operation)));
    CHECK(is_path_of(operation, "/v1/shards/list") == (operation.verb == "partitions list"));
    CHECK(is_path_of(operation, "/v1/shards/accept-gap") == (operation.verb == "partitions accept-gap"));
    CHECK(is_path_of(operation, "/v1/shards/accept-incarnation") == (operation.verb == "partitions accept-recreated"));
    CHECK(is_path_of(operation, "/v1/partitions/accept-incarnation") ==
          (operation.verb == "partitions accept-recreated"));
  }
}
