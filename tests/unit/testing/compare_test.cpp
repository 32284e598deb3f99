#include "testing/compare.hpp"

#include <catch2/catch_test_macros.hpp>

#include "testing/run_tests.hpp"

using namespace inboxd;
using namespace inboxd::testing;
using Differences = std::vector<std::string>;

namespace {

operations::EventState state(const std::string& word, int attempts = 0, const std::string& error = "") {
  return {"book", word, attempts, error, !error.empty()};
}

ObservedRecord stored(const std::string& handler = "", const Outcome& outcome = {}) {
  ObservedRecord out;
  out.taken.state = operations::RecordState{std::nullopt, "id-1", "A-1", "Placed", "k", ""};
  if (!handler.empty()) out.handlers[handler] = outcome;
  return out;
}

std::vector<config::Handler> handlers() {
  config::Handler book, note;
  book.name = "book";
  note.name = "note";
  note.topics = {"pay*", "orders"};
  note.types = {"Cancelled", "Sent*"};
  return {book, note};
}

Differences compared(const ExpectedRecord& expected, const ObservedRecord& observed) {
  Case wanted;
  SampleRecord& sample = wanted.records.emplace_back();
  sample.topic = "orders";
  sample.expected = expected;
  return differences(wanted, {{observed}, {}, {}, {}}, handlers());
}

}  // namespace

TEST_CASE("the outcome is that of the first attempt, in the words of the outcomes") {
  CHECK(outcome_of(state("done", 1), false).outcome == "done");
  CHECK(outcome_of(state("skipped", 1), false).outcome == "skipped");
  CHECK(outcome_of(state("expired"), false).outcome == "expired");
  CHECK(outcome_of(state("dead", 1, "a: b"), false).outcome == "dead");
  CHECK(outcome_of(state("dead", 1, "a: b"), false).error == "a: b");
  CHECK(outcome_of(state("retrying", 1, "a: b"), false).outcome == "retry");
  CHECK(outcome_of(state("done", 2, "a: b"), false).outcome == "retry");  // a second attempt went well
  CHECK(outcome_of(state("dead", 2, "a: b"), false).outcome == "retry");
  CHECK(outcome_of(state("waiting"), false).outcome == "waiting");
  CHECK(outcome_of(state("waiting"), true).outcome.empty());  // for its window
  CHECK(outcome_of(state("due"), false).outcome.empty());
  CHECK(outcome_of(state("leased"), false).outcome.empty());
}

TEST_CASE("a difference has the expected and the actual side") {
  ExpectedRecord wanted;
  CHECK(compared(wanted, stored()).empty());
  wanted.type = "Cancelled";
  wanted.key = "j";
  CHECK(compared(wanted, stored()) == Differences{"record 1, type: expected \"Cancelled\", got \"Placed\"",
                                                  "record 1, key: expected \"j\", got \"k\""});
  wanted = {};
  wanted.quarantined = "no_id";
  CHECK(compared(wanted, stored()) == Differences{"record 1: expected quarantined: no_id, got an event"});
  CHECK(compared({}, ObservedRecord{}) == Differences{"record 1: expected an event, got duplicate"});
}

TEST_CASE("the handlers that get an event are compared in both directions") {
  ExpectedRecord wanted;
  wanted.handlers.emplace();
  CHECK(compared(wanted, stored("book", {"done", ""})) ==
        Differences{"record 1: expected not for handler book, got done"});
  wanted.handlers->emplace("book", ExpectedOutcome{"retry", "503"});
  CHECK(compared(wanted, stored("book", {"retry", "http.503: busy"})).empty());
  CHECK(compared(wanted, stored("book", {"retry", "http.500: busy"})) ==
        Differences{"record 1, handler book, error: expected \"503\", got \"http.500: busy\""});
  CHECK(compared(wanted, stored()) ==
        Differences{"record 1, handler book: expected retry, got no event; handlers that got it: none"});
  CHECK(compared({}, stored("book", {"", ""})) == Differences{"record 1, handler book: no outcome in time"});
}

TEST_CASE("a case for a handler that does not get the event says why, and names the handlers that got it") {
  ExpectedRecord wanted;
  wanted.handlers = {{"book", {}}, {"note", {}}};
  CHECK(compared(wanted, stored("book", {"done", ""})) ==
        Differences{"record 1, handler note: expected done, got no event: the event's type \"Placed\" is not in its "
                    "subscribe.types (Cancelled, Sent*); handlers that got it: book"});
}

TEST_CASE("the expected id is the event's or its producer's") {
  ExpectedRecord wanted;
  wanted.id = "A-1";
  CHECK(compared(wanted, stored()).empty());
  wanted.id = "id-1";
  CHECK(compared(wanted, stored()).empty());
  wanted.id = "A-2";
  CHECK(compared(wanted, stored()) == Differences{"record 1, id: expected \"A-2\", got \"A-1\" (event id id-1)"});
}

TEST_CASE("JSON is compared by value, text by its bytes") {
  Case wanted;
  wanted.query = "q";
  wanted.rows = {{Sample{R"({"a":1,"b":[]})", true}, std::nullopt}};
  Observed observed;
  observed.rows = {{R"({"b": [], "a": 1.0})", std::nullopt}};
  CHECK(differences(wanted, observed, {}).empty());
  wanted.rows[0][0] = Sample{R"({"a":1,"b":[]})", false};
  CHECK(differences(wanted, observed, {}).size() == 1);
}

TEST_CASE("published messages are compared in any order, each once") {
  Case wanted;
  wanted.published = {{"b", "k", Sample{"2"}, {}}, {"a", std::nullopt, std::nullopt, {{"h", "v"}}}};
  Observed observed;
  observed.published = {{"a", "j", "1", {{"x", "y"}, {"h", "v"}}}, {"b", "k", "2", {}}};
  CHECK(differences(wanted, observed, {}).empty());
  observed.published.push_back({"b", "k", "2", {}});
  CHECK(differences(wanted, observed, {}) ==
        Differences{"published: expected nothing more, got topic b key \"k\" value \"2\""});
  wanted.published->emplace_back().topic = "c";
  CHECK(differences(wanted, observed, {}) ==
        Differences{"published: expected topic c, got topic b key \"k\" value \"2\""});
}

TEST_CASE("JUnit XML escapes names and texts") {
  using std::chrono::milliseconds;
  CHECK(junit_of("a&b.yaml", {{"<one>", milliseconds{1'250}, {}}, {"two", milliseconds{5}, {"\"x\"\n\x01", "y"}}}) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"a&amp;b.yaml\" tests=\"2\" failures=\"1\" time=\"1.255\">\n"
        "  <testcase classname=\"a&amp;b.yaml\" name=\"&lt;one&gt;\" time=\"1.250\"/>\n"
        "  <testcase classname=\"a&amp;b.yaml\" name=\"two\" time=\"0.005\">\n"
        "    <failure message=\"&quot;x&quot;\\n\\x01\">&quot;x&quot;\\n\\x01\ny\n</failure>\n"
        "  </testcase>\n"
        "</testsuite>\n");
}
