// The table that command line, HTTP and UI serve.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

#include "admin/operation.hpp"

using namespace inboxd::admin;

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

TEST_CASE("every operation that changes something can be tried dry and done without asking") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.verb);
    const bool changes = operation.permission == Permission::change;
    CHECK(has_flag(operation, "dry-run") == changes);
    CHECK(has_flag(operation, "yes") == changes);
  }
}

TEST_CASE("every parameter says what it is") {
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
