// What a change from a browser is bound to: the plan of its dry run, the name of its operator.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

namespace {

/// The actor in the audit of a pause that comes from that address. The handler runs again after it.
std::string actor_of_pause(AdminFixture& admin, const std::string& from, std::vector<std::string> headers) {
  headers.insert(headers.end(), change.begin(), change.end());
  const std::string body = R"({"handler": "recorder", "reason": "test"})";
  std::string head = "POST /v1/handlers/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n";
  for (const std::string& header : headers) head += header + "\r\n";
  RawConnection connection{admin.port, from};
  connection.send(head + "\r\n" + body);
  CHECK(connection.receive().status == 200);
  CHECK(post(admin.port, "/v1/handlers/resume", R"({"handler": "recorder"})", change).status == 200);
  return admin.database.text(
      "select actor from inbox.audit where operation like '%pause' order by audit_id desc limit 1");
}

}  // namespace

TEST_CASE("a change over HTTP that passes the plan of its dry run leaves later dead letters alone") {
  AdminFixture admin;
  admin.fixture.set("dead_type", "Bad");
  const auto daemon = admin.start();
  const std::string dead = "select count(*) from inbox.dead_letter";
  admin.fixture.produce(3, "Bad");
  admin.database.wait_for("three are dead", dead, 3);
  const auto ask_for = [&](Json body) { return post(admin.port, "/v1/dead/discard", body.dump(), change); };
  const Json dry = Json::parse(ask_for({{"all", true}, {"dry-run", true}}).body);
  CHECK(dry.at("matched") == 3);
  const Json plan = dry.at("plan");

  admin.fixture.produce(2, "Bad");
  admin.database.wait_for("five are dead", dead, 5);
  const auto refused = ask_for({{"handler", "recorder"}, {"plan", plan}});
  CHECK(refused.status == 409);
  CHECK_THAT(refused.body, ContainsSubstring("of other arguments"));
  CHECK(ask_for({{"all", true}, {"plan", "made-up"}}).status == 409);
  CHECK(admin.database.number(dead) == 5);
  CHECK(Json::parse(ask_for({{"all", true}, {"plan", plan}}).body).at("discarded") == 3);
  CHECK(admin.database.number(dead) == 2);
  CHECK(ask_for({{"all", true}, {"plan", plan}}).status == 409);  // nothing of the plan is left
  CHECK(admin.database.number(dead) == 2);
}

TEST_CASE("a request that ends early is continued with the same plan") {
  AdminFixture admin{1, ", answer_timeout: 2s"};
  admin.fixture.set("dead_type", "Bad");
  const auto daemon = admin.start();
  admin.fixture.produce(5, "Bad");
  admin.database.wait_for("five are dead", "select count(*) from inbox.dead_letter", 5);
  const auto ask_for = [&](Json body) {
    body.update({{"all", true}, {"rate", 1}});
    return post(admin.port, "/v1/dead/replay", body.dump(), change);
  };
  const Json plan = Json::parse(ask_for({{"dry-run", true}}).body).at("plan");
  int replayed = 0, requests = 0;
  for (int status = 503; status == 503; ++requests) {
    const auto answer = ask_for({{"plan", plan}});
    status = answer.status;
    CHECK((status == 200 || status == 503));
    replayed += Json::parse(answer.body).value("replayed", 0);
  }
  CHECK(replayed == 5);
  CHECK(requests > 1);
  admin.database.wait_for("each was tried twice", "select count(*) from inbox.failure", 10);
}

TEST_CASE("behind a trusted proxy the audit names the person of its header, from elsewhere the header is ignored") {
  AdminFixture admin{1, ", actor_header: {name: x-forwarded-user, from: [127.0.0.2/31]}"};
  const auto daemon = admin.start();
  const std::string by_proxy = "X-Forwarded-User: carol@corp", by_client = "Inboxd-Actor: mallory";
  CHECK(actor_of_pause(admin, "127.0.0.3", {by_proxy, by_client}) == "carol@corp, admin port, 127.0.0.3");
  CHECK(actor_of_pause(admin, "127.0.0.2", {by_client}) == "admin port, 127.0.0.2");
  CHECK(actor_of_pause(admin, "127.0.0.4", {by_proxy, by_client}) == "mallory, admin port, 127.0.0.4");
  CHECK(actor_of_pause(admin, "127.0.0.4", {by_proxy}) == "admin port, 127.0.0.4");
}
