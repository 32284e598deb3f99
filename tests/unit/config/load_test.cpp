#include "config/load.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

TEST_CASE("the six required things are enough") {
  const auto loaded = load(needed);
  REQUIRE_THAT(everything_said(loaded), Equals(""));
  const Settings& settings = loaded.settings;
  CHECK(settings.database.url == "postgresql://app@localhost/app");
  CHECK(settings.kafka.brokers == "localhost:9092");
  REQUIRE(settings.topics.size() == 1);
  CHECK(settings.topics[0].name == "orders");
  REQUIRE(settings.handlers.size() == 1);
  CHECK(settings.handlers[0].plugin == "log");
  CHECK(settings.handlers[0].topics == std::vector<std::string>{"orders"});
  CHECK(settings.ingest == Ingest{});
  CHECK(settings.retention == Retention{});
}

TEST_CASE("each of the six is reported if missing") {
  const auto missing = [](const std::string& from, const std::string& to) {
    return problems(load(replaced(needed, from, to)));
  };
  CHECK_THAT(missing("url: \"postgresql://app@localhost/app\"", ""),
             Equals("inboxd.yaml:1:1: database.url: missing; add for example 'url: "
                    "postgresql://app@localhost/app'\n"));
  CHECK_THAT(missing("brokers: \"localhost:9092\", ", ""),
             ContainsSubstring("inboxd.yaml:2:1: kafka.brokers: missing;"));
  CHECK_THAT(missing(", group: inboxd", ""), ContainsSubstring("kafka.group: missing;"));
  CHECK_THAT(missing("name: orders", "start: end"), ContainsSubstring("topics[0].name: set a name or a pattern"));
  CHECK_THAT(missing("  - name: orders\n", ""), ContainsSubstring("inboxd.yaml:3:1: topics: none configured;"));
  CHECK_THAT(missing("- name: first\n    plugin", "- plugin"),
             ContainsSubstring("6:5: handlers[0].name: missing;"));
  CHECK_THAT(missing("    plugin: log\n", ""), ContainsSubstring("handlers[0].plugin: missing;"));
  CHECK_THAT(missing("    subscribe: {topics: [orders]}\n", ""),
             ContainsSubstring("handlers[0].subscribe: missing;"));
}

TEST_CASE("every problem of a file is reported at once, in the order of the file") {
  const auto loaded = load(R"(database: {url: "postgresql://app@localhost/app", connections: many, prepare: yes}
kafka: {brokers: ["a", "b"], group: inboxd, propertys: {}}
topics: [{name: "or ders", payload_limit: 1MB, start: tomorrow}]
ingest: {batch_events: 0, batch_wait: 5}
handlers:
  - {name: First, plugin: log, subscribe: {topics: orders}, mode: parallel, retry: {jitter: 2}}
log: {level: trace}
unknown: 1
)");
  CHECK_THAT(problems(loaded),
             Equals(
                 R"(inboxd.yaml:1:64: database.connections: 'many' is not a whole number from 4 to 1000
inboxd.yaml:1:79: database.prepare: 'yes' is not true or false
inboxd.yaml:2:18: kafka.brokers: must be brokers such as kafka-1:9092,kafka-2:9092, not a list
inboxd.yaml:2:45: kafka.propertys: unknown key; did you mean properties?
inboxd.yaml:3:17: topics[0].name: 'or ders' is not a topic's name: letters, digits, '.', '_' and '-', at most 249
inboxd.yaml:3:43: topics[0].payload_limit: '1MB' is not a size (512B, 64KiB, 8MiB) from 1B to 128MiB
inboxd.yaml:3:55: topics[0].start: 'tomorrow' is not beginning, end, committed, or a time such as 2024-01-31T12:00:00Z
inboxd.yaml:4:24: ingest.batch_events: '0' is not a whole number from 1 to 100000
inboxd.yaml:4:39: ingest.batch_wait: '5' is not a duration (250ms, 30s, 5m, 12h, 7d) from 0ms to 10s
inboxd.yaml:6:12: handlers[0].name: 'First' is not a name of lower-case letters, digits, _ and -, at most 63
inboxd.yaml:6:52: handlers[0].subscribe.topics: must be a list such as [one, two]
inboxd.yaml:6:67: handlers[0].mode: 'parallel' is not one of sequential, single, batch
inboxd.yaml:6:93: handlers[0].retry.jitter: '2' is not a number from 0 to 1
inboxd.yaml:7:14: log.level: 'trace' is not one of debug, info, warn, error
inboxd.yaml:8:1: unknown: unknown key; known keys: )"
                 "database, kafka, shard, ingest, local, dispatch, outbox, admin, tracing, retention, ledger, log, "
                 "shutdown, liveness, topics, handlers, handler_defaults\n"));
}

TEST_CASE("every key arrives in its field") {
  const auto loaded = load(R"(
database:
  url: "host=db user=app"
  schema: box
  connections: 9
  prepare: false
  handler_role: handlers
  handler_search_path: app, public
  deadline: 5s
kafka:
  brokers: a:1,b:2
  group: g
  instance_id: i-1
  namespace: prod
  properties: {security.protocol: sasl_ssl, session.timeout.ms: 1000, socket.keepalive.enable: true}
topics:
  - {name: one, start: end, envelope: cloudevents, on_missing_id: position, payload_limit: 2KiB, tombstones: skip,
     retention: 12h}
  - {name: two, start: "2024-01-31T12:00:00Z", envelope: outbox-router, on_missing_id: digest}
  - pattern: ^x\.[a-z]+$
    start: committed
    envelope: custom
    custom: {id: "header:id", type: "json:/a~1b/0", source: key, subject: "header:s", time: "json:/t"}
ingest: {connections: 3, batch_events: 7, batch_bytes: 1MiB, batch_wait: 3ms, run_events: 1}
dispatch: {poll: 50ms, in_hand_events: 10, in_hand_bytes: 1MiB}
handlers:
  - name: h-1
    aliases: [h_0]
    plugin: ./h.so
    subscribe: {topics: [one, "tw*"], types: ["order.*", "*"]}
    start: beginning
    mode: single
    concurrency: 2
    events_per_call: 3
    group: 4
    deadline: 4s
    lease: 1s
    retry: {max_attempts: 5, backoff: linear, base: 6ms, cap: 7ms, jitter: 0}
    settings: {text: a, number: 5, list: [1, "1", 2.5, true, ~, x], map: {b: {c: d}}}
retention: {events: 1d, ledger: 2d, outcomes: 3d, failures: 4d, dead_letters: 5d, quarantine: forever}
log: {level: debug, format: journal}
shutdown: {drain: 0ms}
)");
  REQUIRE_THAT(everything_said(loaded), Equals(""));
  Settings wanted;
  wanted.database = {"host=db user=app", {}, "box", 9, false, "handlers", "app, public", 5s};
  wanted.kafka = {
      "a:1,b:2",
      "g",
      "i-1",
      "prod",
      {{"security.protocol", "sasl_ssl"}, {"session.timeout.ms", "1000"}, {"socket.keepalive.enable", "true"}},
      {}};
  Topic one;
  one.name = "one";
  one.start.kind = StartAt::Kind::end;
  one.envelope = EnvelopeKind::cloudevents;
  one.on_missing_id = OnMissingId::position;
  one.payload_limit = 2048;
  one.tombstones = Tombstones::skip;
  one.retention = 12h;
  Topic two;
  two.name = "two";
  two.start = {StartAt::Kind::time, 1'706'702'400'000'000};
  two.envelope = EnvelopeKind::outbox_router;
  two.on_missing_id = OnMissingId::digest;
  Topic three;
  three.pattern = "^x\\.[a-z]+$";
  three.start.kind = StartAt::Kind::committed;
  three.envelope = EnvelopeKind::custom;
  three.custom = {"header:id", "json:/a~1b/0", "key", "header:s", "json:/t"};
  wanted.topics = {one, two, three};
  wanted.ingest.connections = 3;
  wanted.ingest.batch_events = 7;
  wanted.ingest.batch_bytes = 1 << 20;
  wanted.ingest.batch_wait = 3ms;
  wanted.ingest.run_events = 1;
  wanted.dispatch = {50ms, 10, 1 << 20};
  Handler handler;
  handler.name = "h-1";
  handler.aliases = {"h_0"};
  handler.plugin = "./h.so";
  handler.topics = {"one", "tw*"};
  handler.types = {"order.*", "*"};
  handler.mode = Mode::single;
  handler.start.kind = StartAt::Kind::beginning;
  handler.concurrency = 2;
  handler.events_per_call = 3;
  handler.group = 4;
  handler.deadline = 4s;
  handler.lease = 1s;
  handler.retry = {5, Backoff::linear, 6ms, 7ms, 0};
  handler.settings = {
      {"text", "a"}, {"number", "5"}, {"list", R"([1,"1",2.5,true,null,"x"])"}, {"map", R"({"b":{"c":"d"}})"}};
  wanted.handlers = {handler};
  wanted.retention = {24h, 48h, 72h, 96h, 120h, std::nullopt};
  wanted.log = {inboxd::base::LogLevel::debug, inboxd::base::LogFormat::journal};
  wanted.drain = 0ms;
  CHECK(loaded.settings.database == wanted.database);
  CHECK(loaded.settings.kafka == wanted.kafka);
  CHECK(loaded.settings.topics == wanted.topics);
  CHECK(loaded.settings.handlers == wanted.handlers);
  CHECK(loaded.settings == wanted);
}

TEST_CASE("each choice arrives as its own value") {
  const auto settings = [](const std::string& more) { return load(needed + more).settings; };
  using enum inboxd::base::LogLevel;
  CHECK(settings("log: {level: info}").log.level == info);
  CHECK(settings("log: {level: warn}").log.level == warn);
  CHECK(settings("log: {level: error}").log.level == error);
  using inboxd::base::LogFormat;
  CHECK(settings("log: {format: auto}").log.format == std::nullopt);
  CHECK(settings("log: {format: text}").log.format == LogFormat::text);
  CHECK(settings("log: {format: json}").log.format == LogFormat::json);
  CHECK(settings("    retry: {backoff: fixed}").handlers.at(0).retry.backoff == Backoff::fixed);
  CHECK(settings("    retry: {backoff: exponential}").handlers.at(0).retry.backoff == Backoff::exponential);
  CHECK(settings("    start: now").handlers.at(0).start == StartAt{StartAt::Kind::end, 0});
}

TEST_CASE("handler_defaults apply to each handler without a value of its own") {
  const auto loaded = load(needed + R"(
  - name: second
    plugin: log
    subscribe: {}
    retry: {base: 1s}
    deadline: 2s
handler_defaults:
  deadline: 9s
  retry: {base: 3s, max_attempts: 4}
)");
  REQUIRE_THAT(problems(loaded), Equals(""));
  const Handler& first = loaded.settings.handlers.at(0);
  const Handler& second = loaded.settings.handlers.at(1);
  CHECK(first.deadline == 9s);
  CHECK(first.retry == Retry{4, Backoff::exponential, 3s, 5min, 0.2});
  CHECK(second.deadline == 2s);
  CHECK(second.retry == Retry{4, Backoff::exponential, 1s, 5min, 0.2});
  CHECK(second.topics.empty());
  CHECK(loaded.origins.at("handlers[0].deadline") == Origin{Origin::From::handler_defaults, {16, 3}});
  CHECK(loaded.origins.at("handlers[1].deadline") == Origin{Origin::From::file, {14, 5}});
  CHECK_FALSE(loaded.origins.contains("handlers[0].lease"));
  CHECK_THAT(problems(load(needed + "handler_defaults: {plugin: log}")), ContainsSubstring("handler_defaults.plugin:"));
}

TEST_CASE("a group with every key commented out is empty") {
  CHECK_THAT(problems(load(needed + "ingest:\n#  batch_events: 5\nhandler_defaults:\n")), Equals(""));
}

TEST_CASE("a key without a value is refused") {
  CHECK_THAT(problems(load(needed + "ingest:\n  batch_events:\n  run_events: 5\n")),
             Equals("inboxd.yaml:10:3: ingest.batch_events: no value; remove the key, or set it to a whole "
                    "number from 1 to 100000\n"));
}

TEST_CASE("a problem in an entry of a list does not shift the others") {
  const auto loaded = load(replaced(needed, "  - name: orders\n", "  - 5\n  - name: orders\n    start: soon\n"));
  CHECK_THAT(problems(loaded), ContainsSubstring("inboxd.yaml:4:5: topics[0]: must hold keys: name, "));
  CHECK_THAT(problems(loaded), ContainsSubstring("inboxd.yaml:6:12: topics[1].start: 'soon' is not"));
  CHECK(loaded.problems.size() == 2);
}

TEST_CASE("a file is read from disk; an unreadable file is a problem") {
  const auto folder = std::filesystem::temp_directory_path() / ("inboxd-config-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "inboxd.yaml";
  std::ofstream{path} << needed;
  CHECK(load_file(path, FakeEnvironment{}.get()).settings == load(needed).settings);
  std::ofstream{path} << std::string((1 << 20) + 1, ' ');
  CHECK_THAT(problems(load_file(path, FakeEnvironment{}.get())),
             ContainsSubstring("the file cannot be read: larger than 1048576 bytes"));
  std::filesystem::remove_all(folder);
  CHECK_THAT(problems(load_file(path, FakeEnvironment{}.get())),
             Equals(path + ": the file cannot be read: No such file or directory\n"));
}
