// CloudEvents and signed webhooks, from request to handler.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>

#include "process/webhook/webhook_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string structured = "Content-Type: application/cloudevents+json";
const std::string batch = "Content-Type: application/cloudevents-batch+json";

/// The header of a body that Stripe signs now.
std::string stripe_signature(const std::string& secret, const std::string& body) {
  const char* const sign =
      "import hmac, sys, time\n"
      "now = str(int(time.time()))\n"
      "mac = hmac.new(sys.argv[1].encode(), (now + '.' + sys.argv[2]).encode(), 'sha256')\n"
      "print(f't={now},v1={mac.hexdigest()}', end='')";
  return "Stripe-Signature: " + run_to_end({.arguments = {"python3", "-c", sign, secret, body}}).out;
}

std::string cloudevent(const std::string& id, const std::string& data = "1") {
  return R"({"specversion": "1.0", "id": ")" + id + R"(", "source": "/shop", "type": "made", "data": )" + data + "}";
}

}  // namespace

TEST_CASE("an id that two topics get, as from two webhooks of a repository, reaches the handlers of both") {
  WebhookFixture fixture;
  fixture.config.topics.push_back(WebhookFixture::topic("audit", "{token: t0ken}"));
  fixture.config.handlers[0].topics = {"hooks"};
  HandlerText audit = fixture.config.handlers[0];
  audit.name = "audit";
  audit.topics = {"audit"};
  fixture.config.handlers.push_back(audit);
  const auto daemon = fixture.start();
  const std::string id = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
  CHECK(fixture.send(id, "{}").status == 202);
  fixture.wait_done(1);
  CHECK(fixture.send(id, "{}", {}, "audit").status == 202);
  fixture.wait_done(2);
  CHECK(fixture.send(id, "{}", {}, "audit").status == 202);
  CHECK(fixture.send(id, "{}").body.find("true") != std::string::npos);
  fixture.database.wait_for("all are taken", "select count(*) from inbox.local_event", 0);
  CHECK(fixture.recording.calls_by_event("audit").at(id) == 1);
  CHECK(fixture.recording.calls_by_event().at(id) == 1);
}

TEST_CASE("two copies of a Stripe event that two instances get at the same moment are one event, without a conflict") {
  WebhookFixture fixture{"{verify: {scheme: stripe, secret: whsec_x, tolerance: 1h}}", "answer_timeout: 5m"};
  const int other_port = free_port();
  const auto first = fixture.start();
  const auto second = fixture.start_second(other_port);
  const auto deliver = [](int port, int pending) {
    const std::string body =
        R"({"id": "evt_1", "type": "invoice.paid", "pending_webhooks": )" + std::to_string(pending) + "}";
    return post(port, "/v1/topics/hooks/events", body, {stripe_signature("whsec_x", body)}).status;
  };
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.local_event in exclusive mode");
  auto one = std::async(std::launch::async, deliver, fixture.port, 1);
  auto two = std::async(std::launch::async, deliver, other_port, 2);
  fixture.database.wait_for("both have found the id unknown",
                            "select count(*) from pg_locks where relation = 'inbox.local_event'::regclass and not "
                            "granted", 2);
  holder.run("commit");
  CHECK(one.get() == 202);
  CHECK(two.get() == 202);
  fixture.wait_done(1);
  fixture.database.wait_for("both are taken", "select count(*) from inbox.local_event", 0);
  CHECK(deliver(other_port, 0) == 202);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("a CloudEvent is one event in each content mode, and a batch is stored as a whole or not at all") {
  WebhookFixture fixture;
  const auto daemon = fixture.start();
  CHECK(fixture.send("", "data", {"ce-specversion: 1.0", "ce-id: A", "ce-source: /shop", "ce-type: made",
                                  "ce-partitionkey: k", "ce-subject: caf%C3%A9"}).status == 202);
  CHECK(fixture.send("", cloudevent("B"), {structured}).status == 202);
  const auto stored = fixture.send("", "[" + cloudevent("B") + ", " + cloudevent("C") + "]", {batch});
  CHECK(stored.status == 202);
  CHECK_THAT(stored.body, ContainsSubstring(R"("repeated": true)") && ContainsSubstring(R"("repeated": false)"));
  const auto conflict = fixture.send("", "[" + cloudevent("D") + ", " + cloudevent("C", "2") + "]", {batch});
  CHECK(conflict.status == 409);
  CHECK_THAT(conflict.body, ContainsSubstring("nothing of this request was stored"));
  CHECK(fixture.send("", "[" + cloudevent("D") + ", {}]", {batch}).status == 400);
  CHECK(fixture.send("", "[]", {batch}).status == 202);
  CHECK(fixture.send("", "x", {"Content-Type: application/cloudevents+avro"}).status == 415);
  fixture.wait_done(3);
  CHECK(fixture.database.text("select string_agg(source_id, ' ' order by source_id) from inbox.events "
                              "where source = '/shop' and event_type = 'made'") == "A B C");
  CHECK(fixture.database.text("select concat_ws(' ', encode(key, 'escape'), encode(payload, 'escape'), "
                              "subject = U&'caf\\00e9', headers ->> 'ce_subject' = U&'caf\\00e9') from inbox.events "
                              "where source_id = 'A'") == "k data t t");
  CHECK(fixture.database.number("select count(*) from inbox.event") == 3);
}

TEST_CASE("a webhook with GitHub's published signature is stored once; any other is refused with a single text") {
  WebhookFixture fixture{"{verify: {scheme: github, secret: [another, \"It's a Secret to Everybody\"]}}"};
  const auto daemon = fixture.start();
  const std::string good =
      "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const auto deliver = [&](const std::string& body, const std::vector<std::string>& signature) {
    std::vector<std::string> headers{"X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-GitHub-Event: ping"};
    headers.insert(headers.end(), signature.begin(), signature.end());
    return post(fixture.port, "/v1/topics/hooks/events", body, headers);
  };
  CHECK(deliver("Hello, World!", {good}).status == 202);
  CHECK(deliver("Hello, World!", {good, "Prefer: return=minimal"}).status == 200);  // a redelivery
  const auto missing = deliver("Hello, World!", {});
  CHECK(missing.status == 401);
  for (const auto& other : {deliver("Hello, World?", {good}), deliver("Hello, World!", {good, good}),
                            deliver("Hello, World!", {"X-Hub-Signature-256: sha256=00"})}) {
    CHECK(other.status == 401);
    CHECK(other.body == missing.body);
  }
  fixture.wait_done(1);
  CHECK(fixture.database.text("select concat_ws(' ', event_id, event_type, headers) from inbox.events") ==
        "72d3162e-cc78-11e3-81ab-4c9367dc0958 ping");
}
