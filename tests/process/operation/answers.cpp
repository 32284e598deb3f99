#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"
#include "support/schema_violations.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

namespace {

/// An inbox with an event of each kind: done, dead, not valid text, quarantined.
class AnswersFixture final {
 public:
  AnswersFixture() {
    fixture_.config.handlers[0].more = {"retry: {max_attempts: 2, base: 10ms}"};
    fixture_.set("fail_type", "Bad");
    daemon_ = admin_.start();
    done = fixture_.produce(1).front();
    purged = fixture_.produce(1).front();
    dead = fixture_.produce(1, "Bad").front();
    fixture_.kafka.produce({{.topic = fixture_.topic, .payload = "no id"}});
    fixture_.kafka.produce({{.topic = fixture_.topic,
                             .key = std::string(5'000, '\xff'),
                             .payload = "\xfe",
                             .headers = {{"id", odd}, {"eventType", "Odd"}}}});
    database().wait_for("one is dead", "select count(*) from inbox.dead_letter", 1);
    database().wait_for("one is in quarantine", "select count(*) from inbox.quarantine", 1);
    database().wait_for("three are done", "select count(*) from inbox.deliveries where state = 'done'", 3);
    document_ = json::parse(get(admin_.port, "/openapi.json").body);
  }

  /// Requests, and checks the answer against its schema. `parameters` are a query or, for a change, a body.
  void check(const std::string& verb, int status, const std::string& parameters = "") {
    CAPTURE(verb, parameters);
    const std::string path = "/v1/" + verb;
    const auto& methods = document_.at("paths").at(path);
    const bool reads = methods.contains("get");
    const auto& operation = methods.at(reads ? "get" : "post");
    // Without a token if none is needed: a security alternative is empty.
    const bool is_open = std::ranges::any_of(operation.at("security"), [](const json& way) { return way.empty(); });
    const auto headers = is_open ? std::vector<std::string>{} : with_token;
    const auto answer =
        reads ? get(admin_.port, path + parameters, headers) : post(admin_.port, path, parameters, change);
    CAPTURE(answer.body);
    REQUIRE(answer.status == status);
    const json& responses = operation.at("responses");
    const json& schema = responses.at(std::to_string(status)).at("content").at("application/json").at("schema");
    CHECK(schema_violations(json::parse(answer.body), schema, document_) == std::vector<std::string>{});
    if (status == 200) shown_.insert(path);
    if (status != 200) CHECK(json::parse(answer.body).at("message").is_string());
  }

  /// Operations of the document for which no `check` has seen status 200.
  std::vector<std::string> unseen() const {
    std::vector<std::string> out;
    for (const auto& [path, methods] : document_.at("paths").items()) {
      if (path.starts_with("/v1/") && shown_.count(path) == 0) out.push_back(path);
    }
    return out;
  }

  Database& database() { return fixture_.database; }
  const std::string& topic() const { return fixture_.topic; }
  std::string produce() { return fixture_.produce(1).front(); }

  std::string done, purged, dead;
  const std::string odd = "0193d2a0-0000-7000-8000-00000000000d";

 private:
  AdminFixture admin_;
  DaemonFixture& fixture_ = admin_.fixture;
  std::unique_ptr<DaemonProcess> daemon_;
  json document_;
  std::set<std::string> shown_;
};

}  // namespace

TEST_CASE("every answer of the admin port has exactly the fields of the OpenAPI document") {
  AnswersFixture fixture;
  fixture.check("status", 200);
  fixture.check("events/list", 200);
  fixture.check("events/list", 200, "?topic=nobody-has-this");
  fixture.check("events/list", 200, "?handler=recorder&state=done&key=none");
  for (const std::string operation : {"events/show", "events/trace"}) {
    for (const std::string& id : {fixture.done, fixture.dead, fixture.odd}) fixture.check(operation, 200, "?id=" + id);
    fixture.check(operation, 404, "?id=nobody-has-this");
  }
  fixture.check("events/failures", 200, "?since=1d");
  fixture.check("events/failures", 200, "?handler=nobody");
  fixture.check("dead/list", 200);
  fixture.check("dead/list", 200, "?group-by=type");
  fixture.check("dead/note", 200, R"({"handler": "recorder", "error": "test.failure", "note": "a test"})");
  fixture.check("dead/note", 409, R"({"handler": "recorder", "error": "nobody-has-this", "note": "a test"})");
  fixture.check("dead/list", 200);
  fixture.check("dead/show", 200, "?id=" + fixture.dead);
  fixture.check("dead/show", 404, "?id=999999");
  fixture.check("quarantine/list", 200);
  const auto record = fixture.database().text("select min(quarantine_id) from inbox.quarantine");
  fixture.check("quarantine/show", 200, "?id=" + record);
  fixture.check("quarantine/retry", 200, R"({"all": true, "dry-run": true})");
  fixture.check("quarantine/retry", 200, R"({"all": true})");
  fixture.check("quarantine/retry", 409, R"({"topic": ["nobody-has-this"]})");
  fixture.check("quarantine/discard", 200, R"({"all": true, "dry-run": true})");
  fixture.check("quarantine/discard", 200, R"({"all": true})");
  fixture.check("audit/list", 200, "?operation=quarantine*");
  fixture.check("audit/list", 200, "?actor=nobody");
  fixture.check("handlers/list", 200);
  fixture.check("partitions/list", 200);
  fixture.check("version", 200);
  fixture.check("check", 200);
  fixture.check("config/show", 200);
  fixture.check("config/reference", 200, "?minimal=true");
  fixture.check("config/schema", 200);
  fixture.check("migrate", 200, "?plan=true");

  fixture.check("history", 200);
  fixture.check("history", 200, "?span=24h");
  fixture.check("instance/show", 200);
  fixture.check("instance/pause", 200, "{}");
  fixture.check("instance/pause", 409, "{}");
  fixture.check("instance/show", 200);
  const std::string waits = fixture.produce();
  fixture.database().wait_for("it is pending", "select count(*) from inbox.delivery", 1);
  fixture.check("events/show", 200, "?id=" + waits);
  const std::string for_handler = R"({"id": ")" + waits + R"(", "handler": "recorder")";
  fixture.check("events/retry", 409, for_handler + "}");
  fixture.check("events/retry", 409, R"({"id": "nobody-has-this", "handler": "recorder"})");
  fixture.database().run("update inbox.delivery set attempts = 1, due_at = now() + interval '1 hour'");
  fixture.check("events/retry", 200, for_handler + R"(, "dry-run": true})");
  fixture.check("events/retry", 200, for_handler + "}");
  fixture.check("events/skip", 409, R"({"id": ")" + waits + R"(", "handler": "recordr", "reason": "a test"})");
  fixture.check("events/skip", 200, for_handler + R"(, "reason": "a test"})");
  fixture.database().run("update inbox.handler set paused_reason = 'a test'");
  fixture.check("events/trace", 200, "?id=" + waits);
  fixture.check("status", 200);
  fixture.database().run("update inbox.handler set paused_reason = null");
  fixture.check("instance/resume", 200, "{}");

  fixture.database().run("delete from inbox.event where event_id = '" + fixture.purged + "'");
  fixture.database().run("update inbox.shard set trimmed_before = now()");  // as retention would
  fixture.check("events/show", 200, "?id=" + fixture.purged);
  fixture.check("events/trace", 200, "?id=" + fixture.purged);

  fixture.check("events/forget", 409, R"({"key": "nobody"})");
  fixture.check("events/forget", 200, R"({"key-hex": ")" + std::string(10'000, 'f') + R"(", "dry-run": true})");
  fixture.check("events/forget", 200, R"({"key-hex": ")" + std::string(10'000, 'f') + R"("})");
  fixture.check("events/show", 200, "?id=" + fixture.odd);

  fixture.database().run(
      "select inbox.publish('no-such-topic', 'k', '{}'); "
      "with gone as (delete from inbox.outbox returning *), lane as ("
      "insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, failed_id) "
      "select 5, 'no-such-topic', 'k', false, 'a test', 1, outbox_id from gone) "
      "insert into inbox.outbox_waiting select *, 5, true from gone");
  fixture.check("outbox/list", 200);
  fixture.check("outbox/retry", 409, R"({"topic": ["other"]})");
  fixture.check("outbox/retry", 200, R"({"all": true, "dry-run": true})");
  fixture.check("outbox/skip", 200, R"({"topic": ["no-such-topic"]})");
  fixture.check("lanes/list", 200);
  fixture.check("lanes/release", 409, R"({"all": true})");
  fixture.database().run(
      "update inbox.dead_letter set sequence = shard_id, ordinal = 1, lane = 5, order_key = 'k', parks = true "
      "where event_id = '" +
      fixture.dead + "'");
  fixture.check("lanes/list", 200);
  fixture.check("lanes/release", 200, R"({"key": "k", "dry-run": true})");
  fixture.check("lanes/release", 200, R"({"key": "k"})");
  fixture.check("dead/replay", 200, R"({"all": true, "dry-run": true})");
  fixture.check("dead/replay", 409, R"({"handler": "nobody"})");
  fixture.check("dead/edit", 409, R"({"id": "999999", "payload": "mended"})");
  const std::string edit = R"({"id": ")" + fixture.dead + R"(", "payload": "mended", "header": ["tenant=a"])";
  fixture.check("dead/edit", 200, edit + R"(, "dry-run": true})");
  fixture.check("dead/edit", 200, edit + "}");
  fixture.database().wait_for("it is dead again",
                              "select count(*) from inbox.dead_letter where event_id = '" + fixture.dead + "'", 1);
  fixture.check("dead/show", 200, "?id=" + fixture.dead);
  fixture.check("events/show", 200, "?id=" + fixture.dead);
  fixture.check("dead/replay", 200, R"({"all": true})");
  fixture.database().wait_for("it is dead again", "select count(*) from inbox.dead_letter where state = 'dead'", 1);
  fixture.check("dead/discard", 200, R"({"all": true})");
  fixture.check("events/show", 200, "?id=" + fixture.dead);
  fixture.check("handlers/retire", 409, R"({"handler": "nobody"})");
  fixture.check("handlers/pause", 409, R"({"handler": "nobody", "reason": "a test"})");
  fixture.check("handlers/pause", 200, R"({"handler": "recorder", "reason": "a test"})");
  fixture.check("handlers/resume", 200, R"({"handler": "recorder", "dry-run": true})");
  fixture.check("handlers/resume", 200, R"({"handler": "recorder"})");
  fixture.check("handlers/backfill", 200, R"({"handler": "recorder", "dry-run": true})");
  fixture.check("handlers/backfill", 200, R"({"handler": "recorder", "rate": 1})");
  fixture.check("handlers/backfill", 409, R"({"handler": "recordr"})");
  fixture.check("handlers/run", 409, R"({"handler": "nobody"})");
  fixture.database().run("update inbox.handler set mode = 'batch'");
  fixture.check("handlers/run", 200, R"({"handler": "recorder", "dry-run": true})");
  fixture.database().run("update inbox.handler set mode = 'single'");

  const std::string place = R"({"topic": ")" + fixture.topic() + R"(", "partition": 0, "to": )";
  fixture.check("partitions/seek", 409, place + "999999}");
  fixture.check("partitions/seek", 200, place + R"(0, "dry-run": true})");
  fixture.check("partitions/seek", 200, place + "0}");
  fixture.check("partitions/accept-gap", 409, R"({"topic": ")" + fixture.topic() + R"(", "partition": 0})");
  const std::string halt = "update inbox.shard set halted_at = now(), halted_reason = 'a test', ";
  fixture.database().run(halt + "gap = '[1,5)'");
  fixture.check("partitions/list", 200, "?halted=true");
  fixture.check("partitions/accept-gap", 200,
                R"({"topic": ")" + fixture.topic() + R"(", "partition": 0, "dry-run": true})");
  fixture.database().run(halt + "gap = null, new_incarnation = 'another', gaps = '{[1,2)}'");
  fixture.check("status", 200);
  fixture.check("partitions/accept-recreated", 200, R"({"topic": ")" + fixture.topic() + R"(", "dry-run": true})");

  fixture.check("handlers/retire", 200, R"({"handler": "recorder"})");
  fixture.check("handlers/restore", 200, R"({"handler": "recorder"})");
  CHECK(fixture.unseen() == std::vector<std::string>{});
}
