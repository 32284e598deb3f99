// What the admin port answers, held against the OpenAPI document, field by field.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "process/support/admin.hpp"
#include "support/http.hpp"
#include "support/json_schema.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using nlohmann::json;

namespace {

/// An inbox with something of every kind: an event that is done, one that is dead, one whose bytes are no text, one in
/// quarantine.
class Scene final {
 public:
  Scene() {
    stage_.config.handlers[0].more = {"retry: {max_attempts: 2, base: 10ms}"};
    stage_.set("fail_type", "Bad");
    daemon_ = admin_.start();
    done = stage_.produce(1).front();
    purged = stage_.produce(1).front();
    dead = stage_.produce(1, "Bad").front();
    stage_.kafka.produce({{.topic = stage_.topic, .payload = "no id"}});
    stage_.kafka.produce({{.topic = stage_.topic,
                           .key = std::string(5'000, '\xff'),
                           .payload = "\xfe",
                           .headers = {{"id", odd}, {"eventType", "Odd"}}}});
    database().wait_for("one is dead", "select count(*) from inbox.dead_letter", 1);
    database().wait_for("one is in quarantine", "select count(*) from inbox.quarantine", 1);
    database().wait_for("three are done", "select count(*) from inbox.deliveries where state = 'done'", 3);
    document_ = json::parse(get(admin_.port, "/openapi.json").body);
  }

  /// Asks, and tells what does not fit; `parameters` are a query or, for a change, a body.
  void check(const std::string& verb, int status, const std::string& parameters = "") {
    CAPTURE(verb, parameters);
    const std::string path = "/v1/" + verb;
    const auto& methods = document_.at("paths").at(path);
    const bool reads = methods.contains("get");
    const auto& operation = methods.at(reads ? "get" : "post");
    // Without a token, where none is needed.
    const auto headers = operation.contains("security") ? with_token : std::vector<std::string>{};
    const auto answer =
        reads ? get(admin_.port, path + parameters, headers) : post(admin_.port, path, parameters, change);
    CAPTURE(answer.body);
    REQUIRE(answer.status == status);
    const json& responses = operation.at("responses");
    const json& schema = responses.at(std::to_string(status)).at("content").at("application/json").at("schema");
    CHECK(misfits(json::parse(answer.body), schema, document_) == std::vector<std::string>{});
    if (status == 200) shown_.insert(path);
    if (status != 200) CHECK(json::parse(answer.body).at("message").is_string());
  }

  /// Operations of the document that no `check` has seen answer with 200.
  std::vector<std::string> unseen() const {
    std::vector<std::string> out;
    for (const auto& [path, methods] : document_.at("paths").items()) {
      if (path.starts_with("/v1/") && shown_.count(path) == 0) out.push_back(path);
    }
    return out;
  }

  Database& database() { return stage_.database; }
  const std::string& topic() const { return stage_.topic; }
  std::string produce() { return stage_.produce(1).front(); }

  std::string done, purged, dead;
  const std::string odd = "0193d2a0-0000-7000-8000-00000000000d";

 private:
  Admin admin_;
  Stage& stage_ = admin_.stage;
  std::unique_ptr<Daemon> daemon_;
  json document_;
  std::set<std::string> shown_;
};

}  // namespace

TEST_CASE("every answer of the admin port has the fields that the OpenAPI document says, and no others") {
  Scene scene;
  scene.check("status", 200);
  scene.check("events/list", 200);
  scene.check("events/list", 200, "?topic=nobody-has-this");
  for (const std::string operation : {"events/show", "events/trace"}) {
    for (const std::string& id : {scene.done, scene.dead, scene.odd}) scene.check(operation, 200, "?id=" + id);
    scene.check(operation, 404, "?id=nobody-has-this");
  }
  scene.check("dead/list", 200);
  scene.check("dead/show", 200, "?id=" + scene.dead);
  scene.check("dead/show", 404, "?id=999999");
  scene.check("quarantine/list", 200);
  const auto record = scene.database().text("select min(quarantine_id) from inbox.quarantine");
  scene.check("quarantine/show", 200, "?id=" + record);
  scene.check("handlers/list", 200);
  scene.check("shards/list", 200);
  scene.check("version", 200);
  scene.check("check", 200);
  scene.check("config/show", 200);
  scene.check("config/reference", 200, "?minimal=true");
  scene.check("config/schema", 200);
  scene.check("migrate", 200, "?plan=true");

  scene.check("instance/show", 200);
  scene.check("instance/pause", 200, "{}");
  scene.check("instance/pause", 409, "{}");
  scene.check("instance/show", 200);
  const std::string waits = scene.produce();
  scene.database().wait_for("it is owed", "select count(*) from inbox.delivery", 1);
  scene.check("events/show", 200, "?id=" + waits);
  scene.database().run("update inbox.handler set paused_reason = 'a test'");
  scene.check("events/trace", 200, "?id=" + waits);
  scene.check("status", 200);
  scene.database().run("update inbox.handler set paused_reason = null");
  scene.check("instance/resume", 200, "{}");

  scene.database().run("delete from inbox.event where event_id = '" + scene.purged + "'");
  scene.check("events/show", 200, "?id=" + scene.purged);
  scene.check("events/trace", 200, "?id=" + scene.purged);

  scene.check("dead/replay", 200, R"({"all": true, "dry-run": true})");
  scene.check("dead/replay", 409, R"({"handler": "nobody"})");
  scene.check("dead/replay", 200, R"({"all": true})");
  scene.database().wait_for("it died again", "select count(*) from inbox.dead_letter where state = 'dead'", 1);
  scene.check("dead/discard", 200, R"({"all": true})");
  scene.check("events/show", 200, "?id=" + scene.dead);
  scene.check("handlers/retire", 409, R"({"handler": "recorder"})");

  scene.check("shards/accept-gap", 409, R"({"topic": ")" + scene.topic() + R"(", "partition": 0})");
  const std::string halt = "update inbox.shard set halted_at = now(), halted_reason = 'a test', ";
  scene.database().run(halt + "gap = '[1,5)'");
  scene.check("shards/list", 200, "?halted=true");
  scene.check("shards/accept-gap", 200, R"({"topic": ")" + scene.topic() + R"(", "partition": 0, "dry-run": true})");
  scene.database().run(halt + "gap = null, new_incarnation = 'another', gaps = '{[1,2)}'");
  scene.check("status", 200);
  scene.check("shards/accept-incarnation", 200, R"({"topic": ")" + scene.topic() + R"(", "dry-run": true})");

  scene.check("handlers/retire", 200, R"({"handler": "recorder", "force": true})");
  CHECK(scene.unseen() == std::vector<std::string>{});
}
