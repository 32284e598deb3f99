#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "process/support/application.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr const char* count_quarantined = "select count(*) from inbox.quarantine";

/// Plain JSON without an id, as many producers send it.
void produce_plain(DaemonFixture& fixture, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string payload = "{\"n\": " + std::to_string(i) + "}";
    fixture.kafka.produce({Message{.topic = fixture.topic, .payload = payload, .partition = 0}});
  }
  fixture.database.wait_for("they are in quarantine", count_quarantined, count);
}

}  // namespace

TEST_CASE("at the limit of quarantine a partition halts at its next such record, nothing is lost, and others go on") {
  DaemonFixture fixture{2};
  fixture.config.sections["retention"] = "quarantine_bytes: 1MiB";
  auto daemon = fixture.start();
  produce_plain(fixture, 2);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.database.run(
      "update inbox.quarantine set payload = (select string_agg(decode(md5(random()::text || n), 'hex'), '') "
      "from generate_series(1, 40000) n)");
  daemon = fixture.start();
  daemon->wait_log("kind=maintenance.nearly_full");
  const auto send = [&](const std::optional<std::string>& id, int partition) {
    Message message = event_message(fixture.topic, id.value_or(""));
    if (!id) message.headers.clear();
    message.partition = partition;
    fixture.kafka.produce({message});
    if (id) fixture.note({*id});
  };
  send("5a000000-0000-4000-8000-000000000001", 0);
  send(std::nullopt, 0);
  send("5a000000-0000-4000-8000-000000000002", 0);
  daemon->wait_log("kind=consumer.halted");
  send("5a000000-0000-4000-8000-000000000003", 1);
  fixture.wait_stored(2);
  CHECK(fixture.position() == 3);  // after two records in quarantine, and the good record
  CHECK(fixture.database.number(count_quarantined) == 2);
  const auto halted = command(fixture.config, {"partitions", "list", "--halted"});
  CHECK_THAT(halted.out,
             ContainsSubstring("quarantine is full (retention.quarantine_bytes), and record 3 belongs there") &&
                 ContainsSubstring("inboxd quarantine discard --topic " + fixture.topic));
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("1 partition is halted"));

  CHECK(command(fixture.config, {"quarantine", "discard", "--topic", fixture.topic, "--yes"}).status ==
        ExitStatus{0, 0});
  CHECK(daemon->stop() == ExitStatus{0, 0});
  daemon = fixture.start();  // it looks at once; a running daemon within a minute
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number(count_quarantined) == 1);
  CHECK(fixture.position() == 5);
  fixture.database.wait_for("the halt is cleared", "select count(*) from inbox.shard where halted_reason is not null",
                            0);
}

TEST_CASE("plain records without an id go to quarantine; after corrected rules and a retry, each has one row") {
  DaemonFixture fixture{1};
  Application application{fixture.database};
  application.create_table();
  const auto rules = GENERATE(std::string{"on_missing_id: position"},
                              std::string{"envelope: custom, custom: {id: \"json:/n\"}"});
  CAPTURE(rules);
  fixture.config.topics = {"{name: " + fixture.topic + "}"};
  fixture.config.handlers = {application.statement("book", insert_each)};
  auto daemon = fixture.start();
  produce_plain(fixture, 3);
  const auto list = command(fixture.config, {"quarantine", "list"});
  CHECK_THAT(list.err, ContainsSubstring("set topics[].on_missing_id or "
                                         "custom.id (with envelope: custom), restart the daemon, then "
                                         "`inboxd quarantine retry --topic " +
                                         fixture.topic + "`"));

  fixture.config.topics = {"{name: " + fixture.topic + ", " + rules + "}"};
  const auto dry = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--dry-run"});
  CHECK_THAT(dry.out,
             ContainsSubstring("3 records (" + fixture.topic + " 3): 3 would become events, 0 would be duplicates"));
  CHECK(command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic}).status == ExitStatus{64, 0});
  CHECK(fixture.database.number(count_quarantined) == 3);
  const auto retried = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--yes"});
  INFO(retried.err);
  CHECK(retried.status == ExitStatus{0, 0});
  CHECK_THAT(retried.out, ContainsSubstring("3 became events, 0 were duplicates"));
  application.wait_for("all are applied", "select count(*) from app.applied", 3);
  CHECK(application.text("select string_agg(n::text, ' ' order by n) from app.applied") == "0 1 2");
  CHECK(fixture.database.number(count_quarantined) == 0);
  CHECK(fixture.position() == 3);
  CHECK(command(fixture.config, {"quarantine", "retry", "--all", "--yes"}).status == ExitStatus{1, 0});

  // After a restart the daemon has the same rules.
  CHECK(daemon->stop() == ExitStatus{0, 0});
  daemon = fixture.start();
  fixture.kafka.produce({Message{.topic = fixture.topic, .payload = "{\"n\": 3}", .partition = 0}});
  application.wait_for("so is a new one", "select count(*) from app.applied", 4);
  CHECK(application.applied_events() == 4);
}

TEST_CASE("a retry that is killed between two steps can be repeated, and each event is stored once") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + "}"};
  const auto daemon = fixture.start();
  produce_plain(fixture, 60);
  fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  DaemonProcess retry{fixture.config, {"quarantine", "retry", "--all", "--yes", "--rate", "20"}};
  fixture.database.wait_for("a step is done",
                            "select least(count(*), 1) from inbox.audit where operation = 'quarantine retry'", 1);
  retry.kill();
  const auto left = fixture.database.number(count_quarantined);
  CHECK(left > 0);
  CHECK(left < 60);
  const auto again = command(fixture.config, {"quarantine", "retry", "--all", "--yes", "--json"});
  CHECK(json::parse(again.out).at("events") == left);
  fixture.database.wait_for("all are done", "select count(*) from inbox.deliveries where state = 'done'", 60);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 60);
  CHECK(fixture.database.number("select count(distinct event_id) from inbox.event") == 60);
  CHECK(fixture.database.number("select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome") == 60);
  CHECK(fixture.database.number("select sum((detail ->> 'events')::int) from inbox.audit "
                                "where operation = 'quarantine retry'") == 60);
}

TEST_CASE("over HTTP, quarantine is retried with the daemon's rules, and needs the token") {
  AdminFixture admin;
  admin.config.topics = {"{name: " + admin.topic + "}"};
  auto daemon = admin.start();
  produce_plain(admin.fixture, 3);
  const std::string path = "/v1/quarantine/retry";
  CHECK(post(admin.port, path, R"({"all": true})", as_json).status == 401);
  auto done = json::parse(post(admin.port, path, R"({"all": true})", change).body);
  CHECK(done.at("still") == json{{"no_id", 3}});
  daemon->stop();
  admin.config.topics = {"{name: " + admin.topic + ", on_missing_id: digest}"};
  daemon = admin.start();
  done = json::parse(post(admin.port, path, R"({"topic": [")" + admin.topic + R"("]})", change).body);
  CHECK(done.at("events") == 3);
  admin.database.wait_for("all are done", "select count(*) from inbox.deliveries where state = 'done'", 3);
  CHECK(admin.database.number(count_quarantined) == 0);
}

TEST_CASE("after a retry a handler that keeps order runs the events at once", "[alone]") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + "}"};
  fixture.config.handlers[0].more = {"mode: sequential"};
  const auto daemon = fixture.start();
  fixture.produce(1);
  fixture.wait_done();
  const std::string count_done = "select count(*) from inbox.deliveries where state = 'done'";
  std::int64_t done = 1;
  for (int round = 0; round < 3; ++round) {
    fixture.config.topics = {"{name: " + fixture.topic + "}"};
    produce_plain(fixture, 1);
    fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
    CHECK(command(fixture.config, {"quarantine", "retry", "--all", "--yes"}).status == ExitStatus{0, 0});
    const auto began = monotonic_ms();
    fixture.database.wait_for("the event is done", count_done, ++done);
    CHECK(monotonic_ms() - began < 5'000);  // a sweep comes every ten seconds
  }
}
