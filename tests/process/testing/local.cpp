#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/testing/testing_fixture.hpp"
#include "support/fenced_block.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A configuration without Kafka, with these topics.
struct LocalFixture : TestingFixture {
  explicit LocalFixture(const std::string& topics) : TestingFixture{""} {
    write_file(folder / "inboxd.yaml", "database: {url: \"postgresql://nobody@127.0.0.1:1/none\"}\n"
                                       "ingest: {listen: \"127.0.0.1:1\"}\ntopics:\n" + topics + R"(
handlers:
  - {name: first, plugin: log, subscribe: {topics: [signup, github, posted]}}
  - {name: pushes, plugin: log, subscribe: {types: [push]}}
)");
  }
};

constexpr const char* github = R"(  - name: github
    source: local
    http: {verify: {scheme: github, secret: {env: INBOXD_TEST_ABSENT}}, key: json:/repository/full_name}
)";

}  // namespace

TEST_CASE("samples of a local topic are stored as inbox.enqueue stores them") {
  LocalFixture fixture{"  - {name: signup, source: local, payload_limit: 30B}\n"};
  const auto finished = fixture.run(R"(
cases:
  - name: enqueued
    records:
      - topic: signup
        id: 550e8400-e29b-41d4-a716-446655440000
        type: person.created
        key: "7"
        headers: {trace: abc}
        timestamp: 2024-01-31T12:00:00Z
        value: {id: 7}
        expect: {id: 550e8400-e29b-41d4-a716-446655440000, type: person.created, key: "7", handlers: [first]}
      - topic: signup
        id: 550e8400-e29b-41d4-a716-446655440000
        type: person.created
        key: "7"
        value: {id: 7}
        expect: {stored: duplicate}
      - {topic: signup, type: push, expect: {type: push, handlers: [first, pushes]}}
      - {topic: signup, hex: 00ff, expect: {type: signup, handlers: [first]}}
    expect:
      query: >
        select "offset", encode(payload, 'hex'), headers->>'trace', occurred_at = '2024-01-31 12:00Z'
        from inbox.events order by "offset"
      rows: [[0, 7b226964223a377d, abc, true], [2, ~, ~, ~], [3, 00ff, ~, ~]]
  - name: refused
    records:
      - {topic: signup, value: more than thirty bytes of payload, expect: {refused: "54000: enqueue: payload"}}
  - name: later
    records:
      - {topic: signup, deliver_at: 2999-01-31T12:00:00Z, expect: {refused: beyond its deliver_at_limit}}
  - name: differs
    records: [{topic: signup, value: more than thirty bytes of payload}]
)");
  INFO(finished.err);
  CHECK_THAT(finished.out,
             ContainsSubstring("passed  enqueued\n") && ContainsSubstring("passed  refused\n") &&
                 ContainsSubstring("passed  later\n") &&
                 ContainsSubstring("failed  differs: record 1: expected an event, got refused: 54000: enqueue: "));
}

TEST_CASE("samples of a topic with http are read as requests, without their token or signature") {
  LocalFixture fixture{std::string{github} +
                       "  - {name: posted, source: local, http: {token: {env: INBOXD_TEST_ABSENT}}}\n"};
  const auto finished = fixture.run(R"(
cases:
  - name: github
    records:
      - topic: github
        headers: {X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958, X-GitHub-Event: push}
        value: {repository: {full_name: a/b}}
        expect: {id: 72d3162e-cc78-11e3-81ab-4c9367dc0958, type: push, key: a/b, handlers: [first, pushes]}
      - topic: github
        headers: {X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958, X-GitHub-Event: push}
        value: {repository: {full_name: a/b}}
        expect: {stored: duplicate}
      - topic: github
        headers: {X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958, X-GitHub-Event: push}
        value: {repository: {full_name: a/c}}
        expect: {refused: "409"}
  - name: a token
    records:
      - {topic: posted, headers: {Idempotency-Key: A-1, Inboxd-Key: k}, value: {n: 1}, expect: {id: A-1, key: k}}
      - topic: posted
        headers: {ce-id: "1", ce-source: /shop, ce-type: push, ce-specversion: "1.0"}
        value: {n: 1}
        expect: {id: "1", type: push, handlers: [first, pushes]}
      - {topic: posted, value: {n: 1}, expect: {refused: "400: no event id at header:idempotency-key"}}
  - name: differs
    records: [{topic: posted, value: {n: 1}}]
  - name: a batch
    records:
      - topic: posted
        headers: {Content-Type: application/cloudevents-batch+json}
        value: [{specversion: "1.0", id: a, source: s, type: t}, {specversion: "1.0", id: b, source: s, type: t}]
)");
  INFO(finished.err);
  INFO(finished.out);
  CHECK_THAT(finished.out, ContainsSubstring("passed  github\n") && ContainsSubstring("passed  a token\n") &&
                               ContainsSubstring("failed  differs: record 1: expected an event, got refused: 400: no "
                                                 "event id at header:idempotency-key") &&
                               ContainsSubstring("failed  a batch: record 1: the request has 2 events; make each"));
}

TEST_CASE("the example for GitHub of config/testing.md passes") {
  LocalFixture fixture{github};
  const std::string page = read_file(std::string{INBOXD_EXAMPLES} + "/../testing.md");
  const auto finished =
      fixture.run("cases:\n" + fenced_block(page.substr(page.find("### A record of a local topic")), "yaml"));
  INFO(finished.err);
  CHECK(finished.out == "passed  a push\n1 passed, 0 failed\n");
}
