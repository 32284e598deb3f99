#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/testing/testing_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("handler sql runs against a database of the test, with its setup, and rows are compared") {
  TestingFixture fixture{R"(
  - name: book
    plugin: sql
    subscribe: {}
    settings:
      permanent: ["23"]
      statement: insert into book select body->>'id', (body->>'n')::int from events
)"};
  const auto finished = fixture.run(R"(
setup: create table book (id text primary key, n int not null)
cases:
  - name: a row
    records: [{topic: orders, value: {id: a, n: 7}, expect: {handlers: [book]}}]
    expect: {query: select * from book, rows: [[a, 7]]}
  - name: each case begins with the setup alone
    setup: insert into book values ('b', 1)
    records:
      - {topic: orders, value: {id: b, n: 2}, expect: {handlers: {book: {outcome: dead, error: sql.23505}}}}
      - {topic: orders, value: {id: c, n: x}, expect: {handlers: {book: {outcome: retry, error: invalid input}}}}
    expect: {query: select id from book, rows: [[b]]}
  - name: differs
    records: [{topic: orders, value: {id: a}, expect: {handlers: [book]}}]
    expect: {query: "select count(*), null from book", rows: [[1, a]]}
)");
  INFO(finished.err);
  CHECK(finished.status == ExitStatus{1, 0});
  CHECK_THAT(finished.out, ContainsSubstring("passed  a row\n") &&
                               ContainsSubstring("passed  each case begins with the setup alone\n") &&
                               ContainsSubstring("failed  differs: record 1, handler book: expected done, got dead "
                                                 "(sql.23502: ") &&
                               ContainsSubstring("rows: expected [\"1\", \"a\"], got [\"0\", null]") &&
                               ContainsSubstring("\n2 passed, 1 failed\n"));
}

TEST_CASE("handler http gets recorded answers at an address of the test, and requests are compared") {
  TestingFixture fixture{R"(
  - name: notify
    plugin: http
    subscribe: {}
    settings: {url: "https://service.invalid:8443/orders?from=inbox", permanent: [422], ca: /nowhere.pem}
)"};
  const auto finished = fixture.run(R"(
cases:
  - name: by default 204
    records: [{topic: orders, value: {n: 1}, expect: {handlers: [notify]}}]
    expect: {requests: {notify: [{method: POST, path: "/orders?from=inbox", body: {n: 1}}]}}
  - name: one answer after the other
    records:
      - {topic: orders, key: a, value: 1, expect: {handlers: {notify: {outcome: retry, error: "503"}}}}
      - {topic: orders, key: a, value: 2, expect: {handlers: {notify: waiting}}}
      - {topic: orders, key: b, value: 3, expect: {handlers: {notify: {outcome: dead, error: "422"}}}}
    answers: {notify: [{status: 503, body: later}, {status: 422}]}
  - name: differs
    records: [{topic: orders, value: {n: 1}, expect: {handlers: {notify: retry}}}]
    expect: {requests: {notify: [{path: /other, body: {n: 2}}, {}]}}
)");
  INFO(finished.err);
  CHECK(finished.status == ExitStatus{1, 0});
  CHECK_THAT(finished.out,
             ContainsSubstring("passed  by default 204\n") &&
                 ContainsSubstring("passed  one answer after the other\n") &&
                 ContainsSubstring("failed  differs: record 1, handler notify: expected retry, got done; requests of "
                                   "handler notify: expected 2, got 1; ") &&
                 ContainsSubstring("path: expected \"/other\", got \"/orders?from=inbox\"") &&
                 ContainsSubstring("body: expected \"{\\\"n\\\":2}\", got \"{\\\"n\\\":1}\""));
}

TEST_CASE("handler exec runs the real program") {
  TestingFixture fixture{R"(
  - name: print
    plugin: exec
    subscribe: {}
    settings: {mode: once, command: [/bin/sh, -c, "grep -q good || { echo bad payload >&2; exit 65; }"]}
)"};
  const auto finished = fixture.run(R"(
cases:
  - {name: good, records: [{topic: orders, value: good, expect: {handlers: [print]}}]}
  - name: bad
    records: [{topic: orders, value: bad, expect: {handlers: {print: {outcome: dead, error: bad payload}}}}]
  - {name: differs, records: [{topic: orders, value: bad, expect: {handlers: [print]}}]}
)");
  INFO(finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("passed  good\n") && ContainsSubstring("passed  bad\n") &&
                               ContainsSubstring("failed  differs: record 1, handler print: expected done, got dead") &&
                               ContainsSubstring("\n2 passed, 1 failed\n"));
}

TEST_CASE("handler kafka publishes to a broker of the test") {
  TestingFixture fixture{R"(
  - name: copy
    plugin: kafka
    subscribe: {}
    settings: {topic: "copies-{topic}", properties: {security.protocol: ssl, bootstrap.servers: "127.0.0.1:1"}}
)"};
  const auto finished = fixture.run(R"(
cases:
  - name: a copy
    records: [{topic: orders, key: k, headers: {a: b}, value: {n: 1}, expect: {handlers: [copy]}}]
    expect: {published: [{topic: copies-orders, key: k, value: {n: 1}, headers: {a: b, inboxd-topic: orders}}]}
  - name: differs
    records: [{topic: orders, key: k, value: x}]
    expect: {published: [{topic: other, key: k}]}
)");
  INFO(finished.err);
  CHECK_THAT(finished.out,
             ContainsSubstring("passed  a copy\n") &&
                 ContainsSubstring("failed  differs: published: expected topic other key \"k\", got topic "
                                   "copies-orders key \"k\" value \"x\"\n"));
}

TEST_CASE("a plugin runs in the test with its SQL and its messages") {
  TestingFixture fixture{"  - {name: write, subscribe: {}, settings: {table: seen}, plugin: " + plugin_file("writer") +
                         "}\n  - {name: tell, subscribe: {}, settings: {to: told}, plugin: " +
                         plugin_file("publisher") + "}\n"};
  const auto finished = fixture.run(R"(
setup: create table seen (event_id uuid, n bigint)
cases:
  - name: a plugin
    records: [{topic: orders, offset: 41, key: k, value: v, expect: {handlers: [tell, write]}}]
    expect:
      query: select n from seen
      rows: [[41]]
      published: [{topic: told, key: k, value: v, headers: {eventType: Published}}]
  - name: differs
    records: [{topic: orders, value: fail, expect: {handlers: {write: done, tell: retry}}}]
    expect: {published: []}
)");
  INFO(finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("passed  a plugin\n") &&
                               ContainsSubstring("failed  differs: record 1, handler tell: expected retry, got dead "
                                                 "(test: as it was told)\n"));
}

TEST_CASE("a batch handler gets the records of a case together, without waiting for its window") {
  TestingFixture fixture{R"(
  - name: sum
    plugin: sql
    subscribe: {}
    mode: batch
    batch: {every: 1d}
    settings: {statement: insert into total select count(*) from events}
)"};
  const auto finished = fixture.run(R"(
setup: create table total (n int)
cases:
  - name: two
    records:
      - {topic: orders, value: 1, expect: {handlers: [sum]}}
      - {topic: orders, value: 2, expect: {handlers: [sum]}}
    expect: {query: select n from total, rows: [[2]]}
)");
  INFO(finished.err);
  CHECK(finished.out == "passed  two\n1 passed, 0 failed\n");
}
