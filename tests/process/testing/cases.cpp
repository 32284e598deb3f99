#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/testing/testing_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* handlers = R"(
  - {name: first, plugin: log, subscribe: {topics: [orders]}}
  - {name: placed, plugin: log, subscribe: {types: [OrderPlaced]}}
)";

}  // namespace

TEST_CASE("records of a test are read as ingest reads them: ids, headers, files, bytes, quarantine, duplicates") {
  TestingFixture fixture{handlers};
  write_file(fixture.folder / "sample.bin", std::string_view{"\0\xff", 2});
  const auto finished = fixture.run(R"(
cases:
  - name: an id and a type in headers, null headers too
    records:
      - topic: strict
        key: k
        headers: {id: 550e8400-e29b-41d4-a716-446655440000, eventType: OrderPlaced, none: ~}
        timestamp: 2024-01-31T12:00:00Z
        value: {n: 1}
        expect: {id: 550e8400-e29b-41d4-a716-446655440000, type: OrderPlaced, key: k, handlers: [placed]}
      - topic: strict
        headers: {id: 550e8400-e29b-41d4-a716-446655440000}
        value: {n: 1}
        key: k
        expect: {stored: duplicate}
      - {topic: strict, headers: {id: 550e8400-e29b-41d4-a716-446655440001}, expect: {type: strict, handlers: []}}
  - name: bytes
    records:
      - {topic: orders, file: sample.bin, partition: 3, offset: 7, expect: {handlers: [first]}}
      - {topic: orders, hex: 00ff, key_hex: "6b", partition: 3, expect: {key: k}}
      - {topic: orders, base64: AP8=}
    expect:
      query: select partition, "offset", encode(payload, 'hex') from inbox.events order by partition, "offset"
      rows: [[0, 0, 00ff], [3, 7, 00ff], [3, 8, 00ff]]
  - name: set aside
    records:
      - {topic: strict, value: x, expect: {quarantined: no_id}}
      - {topic: small, value: more than twenty bytes, expect: {quarantined: too_large}}
      - {topic: small, expect: {stored: skipped}}
  - name: differs
    records:
      - {topic: strict, value: x, expect: {quarantined: bad_id}}
      - {topic: orders, value: x, expect: {type: other, handlers: [placed]}}
)");
  INFO(finished.err);
  INFO(finished.out);
  CHECK_THAT(finished.out, ContainsSubstring("passed  an id and a type in headers, null headers too\n") &&
                               ContainsSubstring("passed  bytes\n") && ContainsSubstring("passed  set aside\n") &&
                               ContainsSubstring("failed  differs: record 1: expected quarantined: bad_id, got "
                                                 "quarantined: no_id (") &&
                               ContainsSubstring("record 2, type: expected \"other\", got \"orders\"") &&
                               ContainsSubstring("record 2: expected not for handler first, got done") &&
                               ContainsSubstring("handler placed: expected done, got no event: the event's type "
                                                 "\"orders\" is not in its subscribe.types (OrderPlaced); handlers "
                                                 "that got it: first") &&
                               ContainsSubstring("\n3 passed, 1 failed\n"));
}

TEST_CASE("the records of a case are handled in their order") {
  TestingFixture fixture{R"(
  - name: note
    plugin: sql
    subscribe: {}
    mode: single
    settings: {statement: insert into note (what) select payload from events}
)"};
  std::string records, rows;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    records += "      - {topic: orders, partition: " + std::to_string(i % 3) + ", value: \"" + number + "\"}\n";
    rows += (i == 0 ? "[" : "], [") + std::to_string(i);
  }
  const auto finished = fixture.run(
      "setup: create table note (number int generated always as identity, what bytea)\ncases:\n  - name: order\n"
      "    records:\n" + records +
      "    expect: {query: \"select convert_from(what, 'UTF8') from note order by number\", rows: [" + rows + "]]}\n");
  INFO(finished.err);
  CHECK(finished.out == "passed  order\n1 passed, 0 failed\n");
}

TEST_CASE("test writes JUnit XML and JSON where it can, and runs the cases of a filter") {
  TestingFixture fixture{handlers};
  const std::string cases = R"(
cases:
  - {name: "one <&>", records: [{topic: orders, value: x}]}
  - {name: two, records: [{topic: orders, value: x, expect: {type: y}}]}
)";
  const auto finished = fixture.run(cases, {"--json", "--junit", fixture.folder / "out.xml"});
  INFO(finished.err);
  const auto document = nlohmann::json::parse(finished.out);
  CHECK(document.at("passed") == 1);
  CHECK(document.at("failed") == 1);
  CHECK(document.at("cases").at(1).at("differences").at(0) == "record 1, type: expected \"y\", got \"orders\"");
  const std::string xml = read_file(fixture.folder / "out.xml");
  CHECK_THAT(xml, ContainsSubstring("tests=\"2\" failures=\"1\"") && ContainsSubstring("name=\"one &lt;&amp;&gt;\"") &&
                      ContainsSubstring("<failure message=\"record 1, type: expected &quot;y&quot;"));
  const auto nowhere = fixture.run(cases, {"--junit", fixture.folder / "none/out.xml"});
  CHECK(nowhere.status == ExitStatus{64, 0});
  CHECK_THAT(nowhere.err, ContainsSubstring("none/out.xml cannot be written: No such file or directory; name a file"));
  CHECK(nowhere.out.empty());
  CHECK(fixture.run(cases, {"--filter", "one"}).out == "passed  one <&>\n1 passed, 0 failed\n");
  const auto none = fixture.run(cases, {"--filter", "three"});
  CHECK(none.status == ExitStatus{1, 0});
  CHECK_THAT(none.err, ContainsSubstring("no case has \"three\" in its name"));
}

TEST_CASE("a case ends at its timeout and says which handler had no outcome") {
  TestingFixture fixture{
      "  - {name: slow, plugin: exec, subscribe: {}, deadline: 60s, "
      "settings: {mode: once, command: [/bin/sleep, \"600\"]}}\n"};
  const auto finished =
      fixture.run("cases: [{name: slow, records: [{topic: orders, value: x}]}]", {"--timeout", "1s"});
  INFO(finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("failed  slow: record 1, handler slow: no outcome in time\n"));
}

TEST_CASE("mistakes in a file of tests are named with their line and remedy") {
  TestingFixture fixture{handlers};
  const auto finished = fixture.run(R"(
cases:
  - name: a
    record: []
    records: [{topic: order, value: x, expect: {handlers: {frist: done}}}]
)");
  CHECK(finished.status == ExitStatus{78, 0});
  CHECK_THAT(finished.err, ContainsSubstring("test.yaml:4:5: cases[0].record: unknown key; did you mean records?") &&
                               ContainsSubstring("test.yaml:5:") &&
                               ContainsSubstring("handlers.frist: the configuration has no such handler; did you mean "
                                                 "first?"));
}

TEST_CASE("a setup that fails ends the test with the server's sentence") {
  TestingFixture fixture{handlers};
  const auto finished = fixture.run("setup: select 1 from nowhere\ncases: [{name: a, records: [{topic: orders}]}]");
  CHECK(finished.status == ExitStatus{1, 0});
  CHECK_THAT(finished.err, ContainsSubstring("setup: ") && ContainsSubstring("\"nowhere\" does not exist"));
}
