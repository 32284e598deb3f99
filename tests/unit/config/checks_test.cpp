// What several keys must have in common.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "unit/config/files.hpp"

using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

namespace {

std::string with_topic(const std::string& topic) { return replaced(needed, "name: orders", topic); }

std::string handler(const std::string& name, const std::string& more = "") {
  return "  - {name: " + name + ", plugin: log, subscribe: {}" + more + "}\n";
}

}  // namespace

TEST_CASE("handler names and aliases must all differ") {
  CHECK_THAT(problems(load(needed + handler("first"))),
             Equals("inboxd.yaml:9:6: handlers[1].name: 'first' is taken by handlers[0].name; handlers need different "
                    "names\n"));
  CHECK_THAT(problems(load(needed + handler("second", ", aliases: [old, first]"))),
             ContainsSubstring("handlers[1].aliases[1]: 'first' is taken by handlers[0].name"));
  CHECK_THAT(problems(load(needed + handler("second", ", aliases: [x]") + handler("third", ", aliases: [x]"))),
             ContainsSubstring("handlers[2].aliases[0]: 'x' is taken by handlers[1].aliases[0]"));
  CHECK(load(needed + handler("second", ", aliases: [old]")).ok());
}

TEST_CASE("a name is lower-case letters, digits, _ and -, at most 63") {
  for (const std::string name : {"First", "-x", "_x", "a b", "a.b", "\xc3\xa9", ""}) {
    CAPTURE(name);
    CHECK_THAT(problems(load(needed + handler("\"" + name + "\""))), ContainsSubstring("handlers[1].name: "));
  }
  CHECK(load(needed + handler(std::string(63, 'a'))).ok());
  CHECK_FALSE(load(needed + handler(std::string(64, 'a'))).ok());
}

TEST_CASE("the schema is a plain lower-case SQL identifier of the user's own") {
  for (const std::string schema : {"Inbox", "1box", "in-box", "in box", "pg_inbox", "information_schema", "a\\\"b"}) {
    CAPTURE(schema);
    const auto text = replaced(needed, "url:", "schema: \"" + schema + "\", url:");
    CHECK_THAT(problems(load(text)), ContainsSubstring("inboxd.yaml:1:12: database.schema: ") ||
                                         ContainsSubstring("inboxd.yaml:1:20: database.schema: "));
  }
}

TEST_CASE("no batch and no record is configured larger than PostgreSQL takes in one message") {
  CHECK(load(needed + "ingest: {batch_bytes: 256MiB}\n").ok());
  CHECK_THAT(problems(load(needed + "ingest: {batch_bytes: 257MiB}\n")), ContainsSubstring("from 1KiB to 256MiB"));
  CHECK(load(with_topic("{name: a, payload_limit: 128MiB}")).ok());
  CHECK_THAT(problems(load(with_topic("{name: a, payload_limit: 129MiB}"))), ContainsSubstring("from 1B to 128MiB"));
}

TEST_CASE("a delivery holds no more events than the views look for") {
  CHECK(load(needed + "ingest: {run_events: 10000}\n").ok());
  CHECK_THAT(problems(load(needed + "ingest: {run_events: 10001}\n")),
             ContainsSubstring("ingest.run_events: '10001' is not a whole number from 1 to 10000"));
}

TEST_CASE("a topic has a name or a pattern, not both") {
  CHECK_THAT(problems(load(with_topic("{name: a, pattern: ^b}"))), ContainsSubstring("a name or a pattern, not both"));
  CHECK_THAT(problems(load(with_topic("{start: end}"))), ContainsSubstring("a topic needs a name or a pattern"));
  CHECK_THAT(problems(load(with_topic("{name: ..}"))), ContainsSubstring("Kafka allows no topic of this name"));
  CHECK_THAT(problems(load(with_topic("{name: __consumer_offsets}"))),
             ContainsSubstring("topics[0].name: Kafka keeps records of its own in this topic"));
  CHECK_THAT(problems(load(with_topic("name: a\n  - name: a"))), ContainsSubstring("'a' is topics[0] already"));
}

TEST_CASE("a pattern begins with ^ and is a POSIX extended regular expression") {
  CHECK(load(with_topic("pattern: \"^orders\\\\.(a|b)$\"")).ok());
  CHECK_THAT(problems(load(with_topic("pattern: orders"))), ContainsSubstring("that begins with ^"));
  CHECK_THAT(problems(load(with_topic("pattern: \"^orders(\""))),
             ContainsSubstring("topics[0].pattern: the pattern is no POSIX extended regular expression: "));
}

TEST_CASE("custom rules and the custom envelope need each other") {
  CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom}"))),
             ContainsSubstring("topics[0].envelope: envelope: custom needs it; write where the id is"));
  CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom, custom: {type: key}}"))),
             ContainsSubstring("write where the id is"));
  CHECK_THAT(problems(load(with_topic("{name: orders, custom: {id: key}}"))),
             ContainsSubstring("topics[0].custom: these rules are used with envelope: custom only"));
  for (const char* const rule : {"id", "header:", "json:", "json:id", "json:/a~2", "Key"}) {
    CAPTURE(rule);
    CHECK_THAT(
        problems(load(with_topic(std::string{"{name: orders, envelope: custom, custom: {id: \""} + rule + "\"}}"))),
        ContainsSubstring("topics[0].custom.id: '" + std::string{rule} + "' is not header:NAME, json:/pointer or"));
  }
  for (const char* const part : {"type", "source", "subject", "time"}) {
    CAPTURE(part);
    CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom, custom: {id: key,\n    " + std::string{part} +
                                        ": json:order/id}}"))),
               Equals("inboxd.yaml:5:" + std::to_string(7 + std::strlen(part)) + ": topics[0].custom." + part +
                      ": 'json:order/id' is not header:NAME, json:/pointer or key\n"));
  }
}

TEST_CASE("the connections of ingest and five more fit into the database's") {
  const auto with = [](const std::string& database, const std::string& ingest) {
    return problems(load(replaced(needed, "{url:", "{connections: " + database + ", url:") +
                         "ingest: {connections: " + ingest + "}\n"));
  };
  CHECK_THAT(with("7", "2"), Equals(""));
  CHECK_THAT(with("7", "3"),
             ContainsSubstring("1:12: database.connections: ingest.connections (3) and 5 more must fit"));
  CHECK_THAT(with("6", "2"), ContainsSubstring("5 more"));
  CHECK_THAT(problems(load(needed + "ingest: {connections: 28}\nadmin: {listen: off}")), Equals(""));
  CHECK_THAT(problems(load(needed + "ingest: {connections: 28}")), ContainsSubstring("9:10: ingest.connections: "));
  CHECK_THAT(with("five", "3"), Equals("inboxd.yaml:1:25: database.connections: 'five' is not a whole number from 4 to "
                                       "1000\n"));
}

TEST_CASE("the longest delay is not shorter than the first") {
  CHECK_THAT(problems(load(needed + "    retry: {base: 10m}\n")),
             ContainsSubstring("handlers[0].retry.base: the longest delay, retry.cap (5m), is shorter than the first"));
  CHECK_THAT(problems(load(needed + "    retry: {base: 10m, cap: 10m}\n")), Equals(""));
}

TEST_CASE("leases may be as short as a second") {
  CHECK(load(needed + "    lease: 1s\n").ok());
  CHECK_FALSE(load(needed + "    lease: 999ms\n").ok());
}

TEST_CASE("a subscription has its star at the end alone") {
  const auto with = [](const std::string& types) {
    return problems(load(replaced(needed, "{topics: [orders]}", "{types: [" + types + "]}")));
  };
  CHECK_THAT(with("\"order.*\", \"*\", plain"), Equals(""));
  CHECK_THAT(with("\"*.created\""), ContainsSubstring("handlers[0].subscribe.types[0]: '*.created' is not a name, or"));
  CHECK_THAT(with("\"a**\""), ContainsSubstring("'a**' is not"));
  CHECK_THAT(with("\"\""), ContainsSubstring("'' is not"));
  CHECK_THAT(with("a, a"), ContainsSubstring("types[1]: 'a' is there twice"));
}

TEST_CASE("a subscription to a topic that nobody reads is warned about") {
  const auto with = [](const std::string& topic) {
    return warnings(load(replaced(needed, "[orders]", "[" + topic + "]")));
  };
  CHECK_THAT(with("orders"), Equals(""));
  CHECK_THAT(with("\"ord*\""), Equals(""));
  CHECK_THAT(with("order"), ContainsSubstring("handlers[0].subscribe.topics[0]: this file reads no topic 'order'"));
  CHECK_THAT(with("\"x*\""), ContainsSubstring("this file reads no topic 'x*'"));
  CHECK_THAT(warnings(load(replaced(needed, "name: orders", "pattern: ^o"))), Equals(""));
}

TEST_CASE("ids that are forgotten before their events are warned about") {
  CHECK_THAT(warnings(load(needed + "retention: {ledger: 7d}\n")),
             ContainsSubstring("9:13: retention.ledger: ids are"));
  CHECK_THAT(warnings(load(needed + "retention: {ledger: forever, events: forever}\n")), Equals(""));
}

TEST_CASE("an endpoint of traces is a plain address, and what is said to it one line that nobody is shown") {
  const auto tracing = [](const std::string& text) { return load(needed + "tracing: {" + text + "}\n"); };
  for (const char* fine : {"http://127.0.0.1:4318/v1/traces", "http://[::1]:4318", "http://collector"}) {
    CHECK_THAT(problems(tracing("endpoint: '" + std::string{fine} + "'")), Equals(""));
  }
  for (const char* wrong : {"https://127.0.0.1", "127.0.0.1:4318", "http://", "http://user:pass@collector/",
                            "http://a b", "http://a/ b", "http://a:123456"}) {
    CHECK_THAT(problems(tracing("endpoint: '" + std::string{wrong} + "'")), ContainsSubstring("an http:// address"));
  }
  CHECK_THAT(problems(tracing("endpoint: 'http://a', authorization: Bearer x")), Equals(""));
  const std::string injected = problems(tracing("endpoint: 'http://a', authorization: \"x\\r\\nX-Admin: sesame\""));
  CHECK_THAT(injected, ContainsSubstring("one line of printable ASCII"));
  CHECK_THAT(injected, !ContainsSubstring("sesame"));
  CHECK_THAT(problems(tracing("authorization: Bearer x")), ContainsSubstring("without tracing.endpoint"));
}

TEST_CASE("an admin port that other machines reach wants a token") {
  CHECK_THAT(warnings(load(needed + "admin: {listen: '0.0.0.0:9470'}\n")), ContainsSubstring("admin.listen: other"));
  CHECK_THAT(warnings(load(needed + "admin: {listen: '[::1]:9470'}\n")), Equals(""));
  CHECK_THAT(problems(load(needed + "admin: {listen: '127.0.0.1:0'}\n")), ContainsSubstring("from 1 to 65535"));
  CHECK_THAT(problems(load(needed + "admin: {listen: '9470'}\n")), ContainsSubstring("HOST:PORT"));
  CHECK_THAT(problems(load(needed + "admin: {listen: off, socket: run.sock}\n")), ContainsSubstring("absolute path"));
}

TEST_CASE("reasons that are removed sooner than a handler gives up are warned about") {
  const auto with = [](const std::string& keep, const std::string& retry) {
    return load(needed + handler("patient", ", retry: {" + retry + "}") + "retention: {failures: " + keep + "}\n");
  };
  const std::string slow = "max_attempts: 25, backoff: fixed, base: 2h, cap: 2h, jitter: 0";
  CHECK_THAT(warnings(with("47h", slow)),
             ContainsSubstring("retention.failures: the reasons of attempts are removed sooner than handler patient "
                               "gives up (its retries may take 2d)"));
  CHECK(with("47h", slow).ok());
  CHECK_THAT(warnings(with("48h", slow)), Equals(""));
  CHECK_THAT(warnings(with("forever", slow)), Equals(""));
  CHECK_THAT(warnings(with("48h", "max_attempts: 25, backoff: fixed, base: 2h, cap: 2h, jitter: 0.1")),
             ContainsSubstring("its retries may take 53h"));
}
