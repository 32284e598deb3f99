// Keys checked against each other.
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

TEST_CASE("handler names and aliases are unique") {
  CHECK_THAT(problems(load(needed + handler("first"))),
             Equals("inboxd.yaml:9:6: handlers[1].name: 'first' is taken by handlers[0].name; choose another name\n"));
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

TEST_CASE("the schema is a plain lower-case SQL identifier that PostgreSQL does not reserve") {
  for (const std::string schema : {"Inbox", "1box", "in-box", "in box", "pg_inbox", "information_schema", "a\\\"b",
                                   "order", "left", "values", "json", "loop"}) {
    CAPTURE(schema);
    const auto text = replaced(needed, "url:", "schema: \"" + schema + "\", url:");
    CHECK_THAT(problems(load(text)), ContainsSubstring("inboxd.yaml:1:12: database.schema: ") ||
                                         ContainsSubstring("inboxd.yaml:1:20: database.schema: "));
  }
  for (const std::string schema : {"inbox", "orders", "event", "json_of", "_order"}) {
    CHECK(load(replaced(needed, "url:", "schema: \"" + schema + "\", url:")).ok());
  }
}

TEST_CASE("a batch and a record fit into one PostgreSQL message") {
  CHECK(load(needed + "ingest: {batch_bytes: 256MiB}\n").ok());
  CHECK_THAT(problems(load(needed + "ingest: {batch_bytes: 257MiB}\n")), ContainsSubstring("from 1KiB to 256MiB"));
  CHECK(load(with_topic("{name: a, payload_limit: 128MiB}")).ok());
  CHECK_THAT(problems(load(with_topic("{name: a, payload_limit: 129MiB}"))), ContainsSubstring("from 1B to 128MiB"));
}

TEST_CASE("a delivery holds at most the 10,000 events that the views search") {
  CHECK(load(needed + "ingest: {run_events: 10000}\n").ok());
  CHECK_THAT(problems(load(needed + "ingest: {run_events: 10001}\n")),
             ContainsSubstring("ingest.run_events: '10001' is not a whole number from 1 to 10000"));
}

TEST_CASE("a topic has either a name or a pattern") {
  CHECK_THAT(problems(load(with_topic("{name: a, pattern: ^b}"))),
             ContainsSubstring("set a name or a pattern, not both"));
  CHECK_THAT(problems(load(with_topic("{start: end}"))), ContainsSubstring("set a name or a pattern"));
  CHECK_THAT(problems(load(with_topic("{name: ..}"))), ContainsSubstring("Kafka allows no topic with this name"));
  CHECK_THAT(problems(load(with_topic("{name: __consumer_offsets}"))),
             ContainsSubstring("topics[0].name: an internal topic of Kafka"));
  CHECK_THAT(problems(load(with_topic("name: a\n  - name: a"))), ContainsSubstring("'a' is topics[0] already"));
}

TEST_CASE("a topic's retention is not longer than that of all events") {
  const auto with = [](const std::string& topic, const std::string& events) {
    return load(with_topic("{name: a, retention: " + topic + "}") + "retention: {events: " + events + "}\n");
  };
  CHECK(with("3d", "30d").ok());
  CHECK(with("30d", "30d").ok());
  CHECK(with("40d", "forever").ok());
  CHECK(with("forever", "30d").ok());
  CHECK_THAT(problems(with("31d", "30d")),
             ContainsSubstring("topics[0].retention: is longer than retention.events (30d), which drops whole days of "
                               "all topics; raise that, or shorten this key"));
  CHECK_THAT(problems(with("59m", "30d")), ContainsSubstring("topics[0].retention: '59m' is not"));
}

TEST_CASE("a pattern begins with ^ and is a POSIX extended regular expression") {
  CHECK(load(with_topic("pattern: \"^orders\\\\.(a|b)$\"")).ok());
  CHECK_THAT(problems(load(with_topic("pattern: orders"))), ContainsSubstring("that begins with ^"));
  CHECK_THAT(problems(load(with_topic("pattern: \"^orders(\""))),
             ContainsSubstring("topics[0].pattern: not a POSIX extended regular expression: "));
}

TEST_CASE("custom rules and the custom envelope require each other") {
  CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom}"))),
             ContainsSubstring("topics[0].envelope: envelope: custom requires custom.id; set it to header:NAME"));
  CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom, custom: {type: key}}"))),
             ContainsSubstring("requires custom.id; set it to"));
  CHECK_THAT(problems(load(with_topic("{name: orders, custom: {id: key}}"))),
             ContainsSubstring("topics[0].custom: no effect without envelope: custom"));
  CHECK_THAT(problems(load(with_topic("{name: orders, envelope: custom, custom: {id: key}, strict: true}"))),
             ContainsSubstring("topics[0].strict: no effect with envelope: custom"));
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

TEST_CASE("database.connections has room for the connections of ingest and six more") {
  const auto with = [](const std::string& database, const std::string& ingest) {
    return problems(load(replaced(needed, "{url:", "{connections: " + database + ", url:") +
                         "ingest: {connections: " + ingest + "}\n"));
  };
  CHECK_THAT(with("8", "2"), Equals(""));
  CHECK_THAT(with("8", "3"), ContainsSubstring("1:12: database.connections: ingest.connections (3) and 6 more exceed"));
  CHECK_THAT(with("7", "2"), ContainsSubstring("6 more"));
  CHECK_THAT(problems(load(needed + "ingest: {connections: 28}\nadmin: {listen: off}\noutbox: {relay: false}")),
             Equals(""));
  CHECK_THAT(problems(load(needed + "ingest: {connections: 28}")), ContainsSubstring("9:10: ingest.connections: "));
  CHECK_THAT(with("five", "3"), Equals("inboxd.yaml:1:25: database.connections: 'five' is not a whole number from 4 to "
                                       "1000\n"));
}

TEST_CASE("the first retry rule that matches an error's class counts") {
  using Then = inboxd::config::RetryRule::Then;
  const auto loaded = load(needed +
                           "    retry: {rules: [{error: sql.23505, then: retry}, {error: sql.*, then: dead}, "
                           "{error: http.401, then: pause}]}\n");
  REQUIRE(problems(loaded).empty());
  const auto& retry = loaded.settings.handlers.at(0).retry;
  const auto then = [&](const std::string& error) {
    const auto* const rule = inboxd::config::rule_for(retry, error);
    return rule == nullptr ? std::nullopt : std::optional{rule->then};
  };
  CHECK(then("sql.23505") == Then::retry);
  CHECK(then("sql.22012") == Then::dead);
  CHECK(then("http.401") == Then::pause);
  CHECK(then("http.4011") == std::nullopt);
  CHECK(then("") == std::nullopt);
}

TEST_CASE("a retry rule that cannot be understood is refused with its place") {
  const std::string wanted = "a rule is {error: CLASS, then: retry | dead | pause}";
  for (const std::string rule : {"{error: a}", "{then: dead}", "{error: a, then: drop}", "{error: a, than: dead}", "a",
                                 "{error: [], then: dead}", "{error: '', then: dead}"}) {
    CAPTURE(rule);
    CHECK_THAT(problems(load(needed + "    retry: {rules: [" + rule + "]}\n")),
               ContainsSubstring("handlers[0].retry.rules[0]") && ContainsSubstring(wanted));
  }
  CHECK_THAT(problems(load(needed + "    retry: {rules: a}\n")),
             ContainsSubstring("handlers[0].retry.rules: must be a list such as"));
}

TEST_CASE("an unset retry.cap rises to retry.base; a written cap below retry.base is refused") {
  const auto cap_of = [](const std::string& retry, const std::string& common = "") {
    const auto loaded = load(needed + "    retry: {" + retry + "}\nhandler_defaults: {retry: {" + common + "}}\n");
    CHECK_THAT(problems(loaded), Equals(""));
    return loaded.settings.handlers.at(0).retry.cap;
  };
  CHECK(cap_of("base: 1h") == std::chrono::hours{1});
  CHECK(cap_of("base: 1s") == std::chrono::minutes{5});
  CHECK(cap_of("", "base: 1h") == std::chrono::hours{1});
  CHECK(cap_of("base: 10m, cap: 10m") == std::chrono::minutes{10});
  CHECK(cap_of("base: 10m", "cap: 20m") == std::chrono::minutes{20});
  CHECK_THAT(problems(load(needed + "    retry: {base: 10m, cap: 5m}\n")),
             ContainsSubstring("handlers[0].retry.cap: retry.cap (5m) is shorter than retry.base (10m); raise "
                               "retry.cap, or remove it"));
  CHECK_THAT(problems(load(needed + "    retry: {base: 10m}\nhandler_defaults: {retry: {cap: 5m}}\n")),
             ContainsSubstring("handlers[0].retry.base: retry.cap (5m) is shorter than retry.base (10m)"));
}

TEST_CASE("leases may be as short as a second") {
  CHECK(load(needed + "    lease: 1s\n").ok());
  CHECK_FALSE(load(needed + "    lease: 999ms\n").ok());
}

TEST_CASE("a subscription has a star only at its end") {
  const auto with = [](const std::string& types) {
    return problems(load(replaced(needed, "{topics: [orders]}", "{types: [" + types + "]}")));
  };
  CHECK_THAT(with("\"order.*\", \"*\", plain"), Equals(""));
  CHECK_THAT(with("\"*.created\""), ContainsSubstring("handlers[0].subscribe.types[0]: '*.created' is not a name, or"));
  CHECK_THAT(with("\"a**\""), ContainsSubstring("'a**' is not"));
  CHECK_THAT(with("\"\""), ContainsSubstring("'' is not"));
  CHECK_THAT(with("a, a"), ContainsSubstring("types[1]: 'a' is listed twice"));
}

TEST_CASE("a subscription to a topic that this file does not read is a warning") {
  const auto with = [](const std::string& topic) {
    return warnings(load(replaced(needed, "[orders]", "[" + topic + "]")));
  };
  CHECK_THAT(with("orders"), Equals(""));
  CHECK_THAT(with("\"ord*\""), Equals(""));
  CHECK_THAT(with("order"), ContainsSubstring("handlers[0].subscribe.topics[0]: this file reads no topic 'order'; "
                                              "did you mean orders?"));
  CHECK_THAT(with("\"x*\""), ContainsSubstring("this file reads no topic 'x*'; add it to topics, unless another"));
  CHECK_THAT(warnings(load(replaced(needed, "name: orders", "pattern: ^o"))), Equals(""));
}

TEST_CASE("a handler that would read its own dead letters is refused") {
  const auto with = [](const std::string& topic, const std::string& wanted) {
    const std::string handler = "subscribe: {" + wanted + "}\n    dead_letters: {topic: orders.DLT}";
    return problems(load(replaced(with_topic(topic), "subscribe: {topics: [orders]}", handler)));
  };
  const std::string both = "name: orders\n  - name: orders.DLT";
  CHECK_THAT(with(both, "topics: [orders]"), Equals(""));
  CHECK_THAT(with(both, "topics: [orders, orders.DLT]"),
             Equals("inboxd.yaml:10:20: handlers[0].dead_letters.topic: handler first reads 'orders.DLT' itself, so "
                    "each of its dead letters would be a new event for it, without end; set another topic, or remove "
                    "it from subscribe.topics\n"));
  CHECK_THAT(with(both, ""), ContainsSubstring("set another topic, or set subscribe.topics without this one"));
  CHECK_THAT(with("name: orders", ""), Equals(""));
  CHECK_THAT(with("pattern: \"^orders\"", ""), ContainsSubstring("dead_letters.topic: handler first reads"));
  CHECK_THAT(with("pattern: \"^orders$\"", ""), Equals(""));
  CHECK_THAT(with(both, "topics: [\"orders*\"]"), ContainsSubstring("handlers[0].dead_letters.topic: handler first"));
  CHECK_THAT(with("name: orders", "topics: [\"orders*\"]"), Equals(""));
  CHECK_THAT(with("name: orders", "topics: [orders, orders.DLT]"), ContainsSubstring("handler first reads"));
}

TEST_CASE("a ledger kept shorter than events is a warning") {
  CHECK_THAT(warnings(load(needed + "retention: {ledger: 7d}\n")),
             ContainsSubstring("9:13: retention.ledger: shorter than retention.events"));
  CHECK_THAT(warnings(load(needed + "retention: {ledger: forever, events: forever}\n")), Equals(""));
}

TEST_CASE("tracing.endpoint is a plain address; its authorization is one line and never shown") {
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

TEST_CASE("admin tokens differ, are not empty, and exist if every read needs a token") {
  CHECK_THAT(problems(load(needed + "admin: {token: abc, read_token: abc}\n")),
             Equals("inboxd.yaml:9:21: admin.read_token: equals admin.token, so that readers could make changes; "
                    "use another token\n"));
  CHECK_THAT(problems(load(needed + "admin: {read: token}\n")),
             Equals("inboxd.yaml:9:9: admin.read: every read needs a token, but none is configured; set "
                    "admin.read_token or admin.token, or use loopback\n"));
  CHECK(load(needed + "admin: {read: token, read_token: abc}\n").ok());
  CHECK(load(needed + "admin: {read: token, token: abc}\n").ok());
  CHECK_THAT(problems(load(needed + "admin: {read: nobody}\n")), ContainsSubstring("admin.read"));
  for (const std::string key : {"token", "read_token"}) {
    CAPTURE(key);
    CHECK_THAT(problems(load(needed + "admin: {read: token, " + key + ": ''}\n")),
               ContainsSubstring("admin." + key + ": the secret is empty; fill it in, or remove the key"));
    for (const char* const text : {"'a b'", "' ab'", "\"a\\r\\nb\"", "\"\\u00e9\""}) {
      CHECK_THAT(problems(load(needed + "admin: {" + key + ": " + text + "}\n")),
                 ContainsSubstring("admin." + key + ": a token must be printable ASCII without spaces"));
    }
  }
  FakeEnvironment offline;
  offline.offline = true;  // unknown tokens count as neither equal nor empty
  CHECK(load(needed + "admin: {read: token, token: {file: /a}, read_token: {file: /b}}\n", offline).ok());
}

TEST_CASE("admin.tls has certificate and key, a port, and absolute paths") {
  const auto tls = [](const std::string& text) { return problems(load(needed + "admin: {" + text + "}\n")); };
  CHECK_THAT(tls("tls: {certificate: /a.pem, key: /a.key, client_ca: /b.pem}"), Equals(""));
  CHECK_THAT(tls("tls: {certificate: /a.pem}"), ContainsSubstring("admin.tls.certificate: certificate and key come"));
  CHECK_THAT(tls("tls: {key: /a.key}"), ContainsSubstring("admin.tls.key: certificate and key come together"));
  CHECK_THAT(tls("tls: {client_ca: /b.pem}"), ContainsSubstring("admin.tls.client_ca: no effect without"));
  CHECK_THAT(tls("listen: off, socket: /a.sock, tls: {certificate: /a.pem, key: /a.key}"),
             ContainsSubstring("admin.tls.certificate: no effect while admin.listen is off"));
  CHECK_THAT(tls("tls: {certificate: a.pem, key: /a.key}"), ContainsSubstring("an absolute path"));
}

TEST_CASE("an admin port that other machines reach needs a token") {
  FakeEnvironment environment;
  environment.variables["T"] = "abc";
  CHECK_THAT(warnings(load(needed + "admin: {listen: '0.0.0.0:9470', read_token: {env: T}}\n", environment)),
             Equals(""));
  CHECK_THAT(warnings(load(needed + "admin: {listen: '0.0.0.0:9470'}\n")), ContainsSubstring("admin.listen: other"));
  CHECK_THAT(warnings(load(needed + "admin: {listen: '[::1]:9470'}\n")), Equals(""));
  CHECK_THAT(problems(load(needed + "admin: {listen: '127.0.0.1:0'}\n")), ContainsSubstring("from 1 to 65535"));
  CHECK_THAT(problems(load(needed + "admin: {listen: '9470'}\n")), ContainsSubstring("HOST:PORT"));
  CHECK_THAT(problems(load(needed + "admin: {listen: off, socket: run.sock}\n")), ContainsSubstring("absolute path"));
}

TEST_CASE("failures kept shorter than the retries of a handler are a warning") {
  const auto with = [](const std::string& keep, const std::string& retry) {
    return load(needed + handler("patient", ", retry: {" + retry + "}") + "retention: {failures: " + keep + "}\n");
  };
  const std::string slow = "max_attempts: 25, backoff: fixed, base: 2h, cap: 2h, jitter: 0";
  CHECK_THAT(warnings(with("47h", slow)),
             ContainsSubstring("retention.failures: shorter than the retries of handler patient, which may take 2d: "));
  CHECK(with("47h", slow).ok());
  CHECK_THAT(warnings(with("48h", slow)), Equals(""));
  CHECK_THAT(warnings(with("forever", slow)), Equals(""));
  CHECK_THAT(warnings(with("48h", "max_attempts: 25, backoff: fixed, base: 2h, cap: 2h, jitter: 0.1")),
             ContainsSubstring("which may take 53h"));
}

TEST_CASE("the keys of mode sequential are refused without it") {
  for (const std::string key :
       {"order_by: subject", "order_scope: handler", "missing_key: shared", "on_failure: park"}) {
    CAPTURE(key);
    const std::string name = key.substr(0, key.find(':'));
    CHECK_THAT(problems(load(needed + handler("second", ", mode: single, " + key))),
               ContainsSubstring("handlers[1]." + name + ": no effect without mode: sequential"));
    CHECK(load(needed + handler("second", ", " + key)).ok());
  }
}

TEST_CASE("a batch handler has a period or a cron expression, one call at a time, and calls of max_events") {
  const auto loaded = load(needed + handler("second", ", mode: batch, batch: {every: 10s, max_events: 300}"));
  REQUIRE(loaded.ok());
  const auto& batch = loaded.settings.handlers.at(1);
  CHECK(batch.concurrency == 1);
  CHECK(batch.events_per_call == 300);
  CHECK(batch.group == 1);
  CHECK(load(needed + handler("second", ", mode: batch, concurrency: 3, batch: {cron: '0 6 * * *'}"))
            .settings.handlers.at(1)
            .concurrency == 3);
}

TEST_CASE("windows that cannot be are refused, with the key and the remedy") {
  const auto refused = [](const std::string& more) { return problems(load(needed + handler("second", ", " + more))); };
  CHECK_THAT(refused("mode: batch"), ContainsSubstring("handlers[1].mode: mode: batch requires batch.every or"));
  CHECK_THAT(refused("mode: batch, batch: {every: 1s, cron: '0 6 * * *'}"), ContainsSubstring("not both"));
  CHECK_THAT(refused("mode: batch, batch: {every: 10ms}"), ContainsSubstring("batch.every: is shorter than 100ms"));
  CHECK_THAT(refused("mode: batch, batch: {cron: '0 25 * * *'}"), ContainsSubstring("batch.cron: '25' is no hour"));
  CHECK_THAT(refused("mode: batch, batch: {cron: '0 6 * * *', time_zone: Berlin}"),
             ContainsSubstring("batch.time_zone: no time zone 'Berlin'"));
  CHECK_THAT(refused("mode: batch, batch: {every: 1s, time_zone: Europe/Berlin}"),
             ContainsSubstring("batch.time_zone: no effect without batch.cron"));
  CHECK_THAT(refused("mode: batch, batch: {every: 1s, max_wait: 1h}"),
             ContainsSubstring("batch.max_wait: no effect without batch.at_least"));
  CHECK_THAT(refused("mode: batch, batch: {every: 1s, max_events: 30000}"),
             ContainsSubstring("exceeds dispatch.in_hand_events (20000); raise that"));
  CHECK_THAT(refused("mode: batch, events_per_call: 10, batch: {every: 1s}"),
             ContainsSubstring("events_per_call: no effect with mode: batch; set batch.max_events"));
  CHECK_THAT(refused("batch: {every: 1s}"), ContainsSubstring("handlers[1].batch: no effect without mode: batch"));
}

TEST_CASE("an order key is the record's key, the subject, a header or a place in the payload") {
  for (const std::string place : {"key", "subject", "header:customer", "json:/customer/id"}) {
    CAPTURE(place);
    CHECK(load(needed + handler("second", ", mode: sequential, order_by: " + place)).ok());
  }
  for (const std::string place : {"Key", "header", "header:", "json:customer", "payload", ""}) {
    CAPTURE(place);
    CHECK_THAT(problems(load(needed + handler("second", ", mode: sequential, order_by: \"" + place + "\""))),
               ContainsSubstring("handlers[1].order_by: "));
  }
}

TEST_CASE("an order by anything but the record's key is that of the whole handler") {
  const std::string by_header = ", mode: sequential, order_by: header:customer";
  const auto loaded = load(needed + handler("second", by_header));
  REQUIRE(loaded.ok());
  CHECK(inboxd::config::order_scope_of(loaded.settings.handlers.at(1)) == inboxd::config::OrderScope::handler);
  CHECK(load(needed + handler("second", by_header + ", order_scope: handler")).ok());
  CHECK_THAT(problems(load(needed + handler("second", by_header + ", order_scope: partition"))),
             ContainsSubstring("handlers[1].order_scope: order_by: header:customer may arrive on several partitions"));
}

TEST_CASE("an order within partitions of several topics is a warning") {
  const auto warned = [](const std::string& topics, const std::string& more) {
    const auto loaded =
        load(replaced(needed, "- name: orders", topics) + handler("second", ", mode: sequential" + more));
    CHECK(loaded.ok());
    return warnings(loaded).find("handler second keeps order within each topic, not between topics") !=
           std::string::npos;
  };
  const std::string two = "- name: orders\n  - name: returns";
  CHECK_FALSE(warned("- name: orders", ""));
  CHECK(warned(two, ""));
  CHECK_FALSE(warned(two, ", order_scope: handler"));
  CHECK_FALSE(warned(two, ", order_by: subject"));
  CHECK(warned("- pattern: \"^(orders|returns)\"", ""));
}

TEST_CASE("without kafka all topics must be local, and nothing may publish") {
  const std::string local =
      "database: {url: \"postgresql://app@localhost/app\"}\ntopics: [{name: signup, source: local}]\nhandlers:\n" +
      handler("first");
  const auto loaded = load(local);
  CHECK(loaded.ok());
  CHECK_FALSE(loaded.settings.has_brokers());
  CHECK_FALSE(loaded.settings.outbox.relay);
  CHECK(loaded.settings.ingest_connections() == 0);
  CHECK_THAT(problems(load(replaced(local, "source: local}", "source: local}, {name: a}"))),
             ContainsSubstring("kafka.brokers: missing") && ContainsSubstring("kafka.group: missing"));
  CHECK_THAT(problems(load(local + "kafka: {brokers: a}\n")), ContainsSubstring("kafka.group: missing"));
  CHECK_THAT(problems(load(local + "outbox: {relay: true}\n")), ContainsSubstring("outbox.relay: the relay sends"));
  CHECK_THAT(problems(load(local + handler("second", ", dead_letters: {topic: a}"))),
             ContainsSubstring("handlers[1].dead_letters.topic: dead letters are published to kafka.brokers"));
  const std::string publishes = "  - {name: second, plugin: kafka, subscribe: {}, settings: {topic: a";
  CHECK_THAT(problems(load(local + publishes + "}}\n")), ContainsSubstring("handlers[1].plugin: publishes to"));
  CHECK(load(local + publishes + ", properties: {bootstrap.servers: b}}}\n").ok());
}

TEST_CASE("a local topic has a name, and no rules for records of Kafka") {
  CHECK(load(with_topic("{name: a, source: local, payload_limit: 2MiB, unwrap: none, retention: 3d}")).ok());
  CHECK_THAT(problems(load(with_topic("{pattern: \"^a\", source: local}"))),
             ContainsSubstring("topics[0].pattern: a local topic has a name"));
  for (const std::string key : {"start: end", "envelope: cloudevents", "on_missing_id: digest", "tombstones: skip",
                                "exclude: [b]", "custom: {id: key}"}) {
    CAPTURE(key);
    CHECK_THAT(problems(load(with_topic("{name: a, source: local, " + key + "}"))),
               ContainsSubstring("no effect with source: local"));
  }
}

TEST_CASE("large bodies over HTTP are warned of where clients could fill the memory, or find no room") {
  const std::string one = "{name: a, source: local, http: {open: true}}";
  const std::string two = one + "\n  - {name: b, source: local, http: {open: true}}";
  const auto said = [](const std::string& topics, const std::string& limits) {
    return everything_said(load(with_topic(topics) + "ingest: {listen: \"127.0.0.1:1\", http: {" + limits + "}}\n"));
  };
  CHECK_THAT(said(two, "body_limit: 25MiB"), ContainsSubstring("ingest.http.connections times as much in memory") &&
                                                 ContainsSubstring("at least four times body_limit"));
  CHECK_THAT(said(one, "body_limit: 25MiB, connections: 32"), !ContainsSubstring("body_limit"));
  CHECK_THAT(said(two, "body_limit: 25MiB, connections: 32, waiting_bytes: 128MiB"), !ContainsSubstring("body_limit"));
}

TEST_CASE("a topic that takes events over HTTP says who may post, and keeps no credentials") {
  const auto with = [](const std::string& http, const std::string& more = "") {
    const std::string topic = with_topic("{name: a, source: local, http: " + http + more + "}");
    return load(topic + "ingest: {listen: \"127.0.0.1:1\"}\n");
  };
  CHECK(with("{token: [a, b]}, on_missing_id: digest").ok());
  CHECK(with("{verify: {scheme: github, secret: a}, token: b, headers: [x-a]}").ok());
  CHECK(with("{verify: {scheme: standard-webhooks, secret: whsec_YQ==}}").ok());
  CHECK(with("{open: true}", ", envelope: custom, custom: {id: \"json:/a\"}").ok());
  const auto refused = [&](const std::string& http, const std::string& sentence) {
    CAPTURE(http);
    CHECK_THAT(problems(with(http)), ContainsSubstring(sentence));
  };
  refused("{key: \"header:x\"}", "topics[0].http: nobody may post to this topic");
  refused("{token: a, open: true}", "topics[0].http.open: contradicts http.token");
  refused("{verify: {scheme: github}}", "topics[0].http.verify: scheme and secret come together");
  refused("{token: a, verify: {secret: b}}", "topics[0].http.verify: scheme and secret come together");
  refused("{verify: {scheme: standard-webhooks, secret: \"a b\"}}", "is base64, with or without whsec_");
  refused("{token: \"a b\"}", "a token must be printable ASCII without spaces");
  refused("{open: true, headers: [cookie]}", "'cookie' is a credential, and never kept");
  refused("{open: true, headers: [Cookie]}", "is not a header's name in lower case");
  refused("{open: true}, envelope: debezium", "read as auto, cloudevents or custom");
  CHECK_THAT(everything_said(with("{open: true}", ", payload_limit: 2MiB")),
             ContainsSubstring("topics[0].payload_limit: requests above ingest.http.body_limit get 413"));
  CHECK_THAT(everything_said(with("{open: true}", ", payload_limit: 1MiB")), !ContainsSubstring("payload_limit"));
  CHECK(with("{open: true}", ", value: {format: json}").ok());
  CHECK_THAT(problems(with("{open: true}", ", value: {format: text}")),
             ContainsSubstring("topics[0].value.format: over HTTP a value is auto or json"));
  CHECK_THAT(problems(with("{open: true}", ", value: {format: json, schema_file: a}")),
             ContainsSubstring("a key here has no effect with this format"));
  CHECK_THAT(problems(load(with_topic("{name: a, http: {open: true}}"))),
             ContainsSubstring("topics[0].http: events over HTTP need source: local"));
  CHECK_THAT(everything_said(load(with_topic("{name: a, source: local, http: {open: true}}"))),
             ContainsSubstring("topics[0].http: no effect while ingest.listen is off"));
  CHECK_THAT(everything_said(load(with_topic("{name: a}") + "ingest: {listen: \"127.0.0.1:1\"}\n")),
             ContainsSubstring("ingest.listen: no topic takes events over HTTP"));
  CHECK_THAT(problems(load(with_topic("{name: a}") + "ingest: {tls: {key: /a}}\n")),
             ContainsSubstring("ingest.tls.key: certificate and key come together"));
}

TEST_CASE("a shard's index is below the number of databases; both are named") {
  const auto with = [](const std::string& shard) { return problems(load(needed + "shard: {" + shard + "}\n")); };
  CHECK_THAT(with("index: 3, of: 8"), Equals(""));
  CHECK_THAT(with("index: 0, of: 1"), Equals(""));
  CHECK_THAT(with("index: 8, of: 8"), ContainsSubstring("shard.index (8) must be below shard.of (8)"));
  CHECK_THAT(with("index: 2"), ContainsSubstring("shard.index (2) must be below shard.of (1)"));
  CHECK_THAT(with("index: 0, of: 1025"), ContainsSubstring("from 1 to 1024"));
  CHECK_THAT(with("index: -1, of: 2"), ContainsSubstring("shard.index"));
}

TEST_CASE("databases that share topics read Kafka without membership, so a member's name is refused") {
  CHECK_THAT(problems(load(replaced(needed, "group: inboxd", "group: inboxd, instance_id: a") +
                           "shard: {index: 0, of: 2}\n")),
             ContainsSubstring("kafka.instance_id: no effect with shard.of"));
}
