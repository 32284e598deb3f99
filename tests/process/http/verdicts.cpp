// The shipped handler `http`: verdicts as real services write them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/http/http_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a compressed answer is decoded, and an answer in an unknown coding is a broken answer") {
  HttpFixture fixture{{"events_per_call: 20"}};
  const auto daemon = fixture.start();
  fixture.produce(1, "Zipped");
  CHECK(fixture.states(1) == "dead");  // or both could be posted together, as a list without a type
  fixture.produce(1, "Coded");
  CHECK(fixture.states(2) == "dead dead");
  CHECK_THAT(fixture.failures(), ContainsSubstring("my.class") && ContainsSubstring("http.broken_answer"));
  HttpFixture dapr{};
  dapr.set("style", "dapr");
  const auto other = dapr.start();
  dapr.produce(1, "ZippedDrop");
  CHECK(dapr.states(1) == "dead");
}

TEST_CASE("a null in a verdict is as if absent, any spelling of an id counts, and an absurd delay is cut") {
  const std::string type = GENERATE("Nulls", "Upper", "Urn");
  CAPTURE(type);
  HttpFixture fixture{{"events_per_call: 20"}};
  const auto daemon = fixture.start();
  fixture.produce(1, type);
  CHECK(fixture.states(1) == (type == "Nulls" ? "done" : "dead"));
  fixture.produce(1, "Never");
  fixture.database.wait_for("it is retried in a year",
                            "select count(*) from inbox.deliveries where state = 'retrying' "
                            "and due_at > now() + interval '365 days'",
                            1);
}

TEST_CASE("an event that a verdict defers comes again uncharged, and so may an event whose answer has Retry-After") {
  const bool is_verdict = GENERATE(true, false);
  CAPTURE(is_verdict);
  HttpFixture fixture{is_verdict ? std::vector<std::string>{"events_per_call: 20"} : std::vector<std::string>{}};
  if (!is_verdict) fixture.set("retry_after", "defer");
  const auto daemon = fixture.start();
  fixture.produce(1, is_verdict ? "NotYet" : "After-1");
  CHECK(fixture.states(1) == "done");
  CHECK(fixture.requests().size() == 2);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(fixture.database.number("select attempts from inbox.deliveries") == 1);
}

TEST_CASE("an answer that says it is JSON, but is none, is logged") {
  HttpFixture fixture{{"events_per_call: 20"}};
  const auto daemon = fixture.start();
  fixture.produce(1, "NotJson");
  CHECK(fixture.states(1) == "done");
  wait_until("it is logged", [&] { return daemon->count_in_log("its body is no JSON and counts as no verdict") == 1; });
}
