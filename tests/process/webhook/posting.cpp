// Events over HTTP: a daemon, PostgreSQL and plain requests.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/webhook/webhook_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a posted event is stored before 202 and handled once, with its type, key and the headers to keep") {
  WebhookFixture fixture{"{token: t0ken, headers: [user-agent]}"};
  const auto daemon = fixture.start();
  const auto answer = fixture.send("order-1", R"({"a":  1})", {"Inboxd-Type: order.created", "Inboxd-Key: k1",
                                                               "Content-Type: application/json", "Cookie: hush",
                                                               "User-Agent: test", "X-Other: hush"});
  CHECK(answer.status == 202);
  CHECK_THAT(answer.body, ContainsSubstring(R"("repeated": false)"));
  CHECK(fixture.database.number("select (select count(*) from inbox.local_event) + (select count(*) from "
                                "inbox.ledger)") == 1);
  fixture.wait_done(1);
  CHECK(fixture.database.text("select concat_ws(' ', source_id, event_type, encode(key, 'escape'), "
                              "encode(payload, 'escape')) from inbox.events") ==
        R"(order-1 order.created k1 {"a":  1})");
  CHECK(fixture.database.text("select headers from inbox.events") ==
        R"({"user-agent": "test", "content-type": "application/json"})");
  CHECK_THAT(answer.body, ContainsSubstring(fixture.database.text("select event_id from inbox.events")));
  CHECK(fixture.recording.count() == 1);
  CHECK(fixture.send("order-2", "").status == 202);  // no body, and the topic's name as type
  fixture.wait_done(2);
  CHECK(fixture.database.text("select event_type from inbox.events where source_id = 'order-2'") == "hooks");
}

TEST_CASE("an id that came before is repeated with the same payload, and conflicts with another") {
  WebhookFixture fixture;
  const auto daemon = fixture.start();
  CHECK(fixture.send("one", "1").status == 202);
  for (const bool is_stored : {false, true}) {  // staged, if the reader is slow, and stored
    CAPTURE(is_stored);
    const auto again = fixture.send("one", "1");
    CHECK(again.status == 202);
    CHECK_THAT(again.body, ContainsSubstring(R"("repeated": true)"));
    const auto preferring = fixture.send("one", "1", {"Prefer: return=minimal"});
    CHECK(preferring.status == 200);
    CHECK(preferring.body.empty());
    const auto conflict = fixture.send("one", "2");
    CHECK(conflict.status == 409);
    CHECK_THAT(conflict.body, ContainsSubstring("is known with another payload or key"));
    CHECK(fixture.send("one", "1", {"Inboxd-Key: other"}).status == 409);
    fixture.wait_done(1);
  }
  CHECK(fixture.send("two", "1", {"Prefer: return=minimal"}).status == 202);
  fixture.wait_done(2);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 2);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("a staged event is known before the reader stores it") {
  WebhookFixture fixture;
  const auto daemon = fixture.start();
  Session reader{fixture.database.url(), fixture.database.schema()};
  reader.run("begin; lock table inbox.position in exclusive mode");  // ingest waits
  CHECK(fixture.send("one", "1").status == 202);
  CHECK_THAT(fixture.send("one", "1").body, ContainsSubstring(R"("repeated": true)"));
  CHECK(fixture.send("one", "2").status == 409);
  CHECK(fixture.database.number("select count(*) from inbox.ledger") == 0);
  reader.run("commit");
  fixture.wait_done(1);
}

TEST_CASE("each refusal has its status and names the remedy") {
  WebhookFixture fixture{"{token: t0ken}", "body_limit: 2KiB", ", payload_limit: 1KiB"};
  fixture.config.topics.push_back(WebhookFixture::topic("other", "{token: [0ther, third]}"));
  fixture.config.topics.emplace_back("{name: closed, source: local}");
  fixture.config.topics.push_back(WebhookFixture::topic("json", "{token: t0ken}", ", value: {format: json}"));
  const auto daemon = fixture.start();
  const auto refused = [&](const HttpAnswer& answer, int status, const std::string& remedy) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    CHECK_THAT(answer.body, ContainsSubstring(remedy));
  };
  const auto with_token = [&](const std::string& token) {
    return post(fixture.port, "/v1/topics/hooks/events", "1", {"Authorization: " + token, "Idempotency-Key: x"});
  };
  refused(fixture.send("", "1"), 400, "no event id at header:idempotency-key");
  refused(fixture.send(std::string(300, 'x'), "1"), 400, "has 300 bytes");
  refused(fixture.send("x", "1", {"Idempotency-Key: y"}), 400, "appears twice");
  refused(with_token("Bearer wrong"), 401, "send a token of topics[].http.token");
  refused(with_token("Basic t0ken"), 401, "Authorization: Bearer TOKEN");
  refused(with_token("Bearer third"), 403, "for another topic");
  refused(fixture.send("x", "1", {"Origin: https://example.org"}), 403, "from web pages");
  refused(fixture.send("x", "1", {}, "unknown"), 404, "topics[].http");
  refused(fixture.send("x", "1", {}, "closed"), 404, "topics[].http");
  refused(fixture.send("x", "a=b", {}, "json"), 400, "the payload is not JSON (topics[].value.format)");
  refused(get(fixture.port, "/"), 404, "/v1/topics/TOPIC/events");
  refused(get(fixture.port, "/v1/topics/hooks/events"), 405, "use POST");
  refused(fixture.send("x", std::string(3'000, 'x')), 413, "ingest.http.body_limit");
  refused(fixture.send("x", std::string(1'500, 'x')), 413, "topics[].payload_limit");
  refused(fixture.send("x", "1", {"Content-Encoding: gzip"}), 415, "Content-Encoding");
  CHECK(post(fixture.port, "/v1/topics/other/events", "1", {"Authorization: Bearer third", "Idempotency-Key: x"})
            .status == 202);
  fixture.wait_done(1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1);
  CHECK_THAT(daemon->log(), ContainsSubstring("webhook: request refused"));
  CHECK_THAT(daemon->log(), !ContainsSubstring("t0ken") && !ContainsSubstring("Bearer"));
}

TEST_CASE("an event without an id is an event of its own, or one with equal content, as on_missing_id says") {
  WebhookFixture fixture{"{open: true}", "", ", on_missing_id: position"};
  fixture.config.topics.push_back(WebhookFixture::topic("digest", "{open: true}", ", on_missing_id: digest"));
  const auto daemon = fixture.start();
  for (int i = 0; i < 3; ++i) {
    CHECK(fixture.send("", "1").status == 202);
    CHECK(fixture.send("", "1", {}, "digest").status == 202);
  }
  fixture.wait_done(4);
  CHECK(fixture.database.number("select count(*) from inbox.events where topic = 'hooks'") == 3);
}

TEST_CASE("the topic's own rules find the id, and events of a key run in the order of their requests") {
  WebhookFixture fixture{"{token: t0ken, key: 'json:/customer'}", "",
                         ", envelope: custom, custom: {id: 'json:/nr', type: 'header:X-Kind'}"};
  const auto daemon = fixture.start();
  for (int i = 0; i < 50; ++i) {
    const std::string body = R"({"nr": )" + std::to_string(i) + R"(, "customer": "c)" + std::to_string(i % 2) + "\"}";
    CHECK(fixture.send("", body, {"X-Kind: made"}).status == 202);
  }
  fixture.wait_done(50);
  CHECK(fixture.database.number("select count(*) from inbox.events where event_type = 'made' and "
                                "encode(key, 'escape') = 'c' || (source_id::int % 2)") == 50);
  CHECK(fixture.database.number("select count(*) from (select source_id::int - lag(source_id::int) over (order by "
                                "\"offset\") as step from inbox.events) t where step <> 1") == 0);
}
