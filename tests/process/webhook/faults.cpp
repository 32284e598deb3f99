// Events over HTTP, while daemons crash and the database is away.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <set>
#include <thread>

#include "process/webhook/webhook_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Sends ids FROM to TO - 1; returns those that were answered with 202.
std::set<int> send_all(const WebhookFixture& fixture, int from, int to) {
  std::set<int> out;
  for (int i = from; i < to; ++i) {
    try {
      if (fixture.send("id-" + std::to_string(i), std::to_string(i)).status == 202) out.insert(i);
    } catch (const std::exception&) {
      continue;  // the daemon is dead
    }
  }
  return out;
}

}  // namespace

TEST_CASE("after a crash the events with 202 are there, and a resend of all makes each exactly once") {
  WebhookFixture fixture;
  auto daemon = fixture.start();
  std::vector<std::future<std::set<int>>> senders;
  for (int i = 0; i < 4; ++i) {
    senders.push_back(
        std::async(std::launch::async, [&fixture, i] { return send_all(fixture, i * 100, i * 100 + 100); }));
  }
  fixture.database.wait_for("some events are staged or stored",
                            "select ((select count(*) from inbox.local_event) + (select count(*) from inbox.ledger) > "
                            "20)::int", 1);
  daemon->kill();
  std::size_t answered = 0;
  for (auto& sender : senders) answered += sender.get().size();
  CHECK(fixture.database.number("select (select count(*) from inbox.local_event) + (select count(*) from "
                                "inbox.ledger)") >= static_cast<std::int64_t>(answered));
  daemon = fixture.start();
  for (int i = 0; i < 400; ++i) CHECK(send_all(fixture, i, i + 1).size() == 1);
  fixture.wait_done(400);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 400);
  CHECK(fixture.database.number("select count(distinct source_id) from inbox.events") == 400);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("while the database is away requests get 503 with Retry-After, and later ones are stored") {
  const Database place;  // for the address of the server
  Proxy proxy{port_of(place.url())};
  WebhookFixture fixture{"{token: t0ken}", "", "", url_with_port(place.url(), proxy.port())};
  const auto daemon = fixture.start();
  CHECK(fixture.send("one", "1").status == 202);
  proxy.refuse(true);
  proxy.cut();
  HttpAnswer answer;
  wait_until("a request gets 503", [&] { return (answer = fixture.send("two", "2")).status == 503; });
  CHECK(answer.headers.at("retry-after") == "1");
  proxy.refuse(false);
  wait_until("the next is stored", [&] { return fixture.send("two", "2").status == 202; });
  fixture.wait_done(2);
}

TEST_CASE("a lost answer of COMMIT is a 503, and the resend makes no second event") {
  const Database place;
  Proxy proxy{port_of(place.url())};
  WebhookFixture fixture{"{token: t0ken}", "", "", url_with_port(place.url(), proxy.port())};
  const auto daemon = fixture.start();
  proxy.cut_at(Proxy::executes("receive"), Proxy::Cut::after);
  CHECK(fixture.send("one", "1").status == 503);
  wait_until("the resend is taken", [&] { return fixture.send("one", "1").status == 202; });
  fixture.wait_done(1);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 1);
}

TEST_CASE("more requests than may wait get 429, and those that wait are stored together") {
  WebhookFixture fixture{"{token: t0ken}", "waiting_requests: 3, answer_timeout: 5m"};
  const int admin = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin) + "'";
  const auto daemon = fixture.start();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.local_event in exclusive mode");
  std::vector<std::future<HttpAnswer>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [&, i] { return fixture.send("id-" + std::to_string(i), "1"); }));
  }
  wait_until("all wait", [&] { return gauge(admin, "inboxd_ingest_http_waiting_requests") == 3; });
  const auto busy = fixture.send("late", "1");
  CHECK(busy.status == 429);
  CHECK(busy.headers.at("retry-after") == "1");
  CHECK_THAT(busy.body, ContainsSubstring("ingest.http.waiting_requests"));
  holder.run("commit");
  for (auto& each : waiting) CHECK(each.get().status == 202);
  CHECK(fixture.send("late", "1").status == 202);
  fixture.wait_done(4);
}

TEST_CASE("a flood of one topic's requests leaves half of the waiting requests and bytes to the other topics") {
  WebhookFixture fixture{"{token: t0ken}", "waiting_requests: 4, waiting_bytes: 4KiB, answer_timeout: 5m"};
  fixture.config.topics.push_back(WebhookFixture::topic("other", "{token: t0ken}"));
  const int admin = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin) + "'";
  const auto daemon = fixture.start();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.local_event in exclusive mode");
  std::vector<std::future<HttpAnswer>> waiting;
  const auto add = [&](const std::string& topic, std::size_t bytes) {
    const std::string id = "id-" + std::to_string(waiting.size());
    waiting.push_back(std::async(std::launch::async, [&fixture, topic, bytes, id] {
      return fixture.send(id, std::string(bytes, 'x'), {}, topic);
    }));
    wait_until("it waits", [&] {
      return gauge(admin, "inboxd_ingest_http_waiting_requests") == static_cast<double>(waiting.size());
    });
  };
  const auto refused = [&](const std::string& topic, std::size_t bytes) {
    return fixture.send("refused", std::string(bytes, 'x'), {}, topic).status == 429;
  };
  add("hooks", 1'500);
  CHECK(refused("hooks", 1'000));  // above half of the bytes
  add("hooks", 1);
  CHECK(refused("hooks", 1));  // above half of the requests
  add("other", 1'000);
  CHECK(refused("other", 1'500));
  add("other", 1);
  CHECK(refused("other", 1));
  holder.run("commit");
  for (auto& each : waiting) CHECK(each.get().status == 202);
  CHECK(fixture.send("large", std::string(5'000, 'x')).status == 202);
  fixture.wait_done(5);
}

TEST_CASE("of two requests that wait with the same id, one is repeated or conflicts") {
  WebhookFixture fixture{"{token: t0ken}", "answer_timeout: 5m"};
  const int admin = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin) + "'";
  const auto daemon = fixture.start();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; lock table inbox.local_event in exclusive mode");
  const auto wait_for = [&](int requests) {
    wait_until("they wait", [&] { return gauge(admin, "inboxd_ingest_http_waiting_requests") == requests; });
  };
  std::vector<std::future<HttpAnswer>> answers;
  for (const auto& [id, body] : std::vector<std::pair<std::string, std::string>>{
           {"first", "1"}, {"same", "1"}, {"same", "1"}, {"same", "2"}, {"last", "1"}}) {
    answers.push_back(std::async(std::launch::async, [&fixture, id = id, body = body] {
      return fixture.send(id, body);
    }));
    wait_for(static_cast<int>(answers.size()));
  }
  holder.run("commit");
  int repeated = 0, conflicts = 0, stored = 0;
  for (auto& each : answers) {
    const auto answer = each.get();
    conflicts += answer.status == 409 ? 1 : 0;
    repeated += answer.status == 202 && answer.body.find(R"("repeated": true)") != std::string::npos ? 1 : 0;
    stored += answer.status == 202 && answer.body.find(R"("repeated": false)") != std::string::npos ? 1 : 0;
  }
  CHECK(stored == 3);
  CHECK(repeated == 1);
  CHECK(conflicts == 1);
  fixture.wait_done(3);
  fixture.database.wait_for("all are taken", "select count(*) from inbox.local_event", 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 3);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("two instances take the same ids at once, and each event is handled once") {
  WebhookFixture fixture;
  const auto first = fixture.start();
  const int other_port = free_port();
  const auto second = fixture.start_second(other_port);
  std::vector<std::future<void>> senders;
  for (const int port : {fixture.port, other_port}) {
    senders.push_back(std::async(std::launch::async, [port] {
      for (int i = 0; i < 100; ++i) {
        const auto answer = post(port, "/v1/topics/hooks/events", "1",
                                 {"Authorization: Bearer t0ken", "Idempotency-Key: id-" + std::to_string(i)});
        if (answer.status != 202) throw std::runtime_error("status " + std::to_string(answer.status));
      }
    }));
  }
  for (auto& sender : senders) CHECK_NOTHROW(sender.get());
  fixture.wait_done(100);
  fixture.database.wait_for("all are taken", "select count(*) from inbox.local_event", 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 100);
  CHECK(fixture.recording.calls_by_event().size() == 100);
}

TEST_CASE("after a restore of the database ids of before are repeated, and lost events are stored by a resend") {
  PrivatePostgres server;
  WebhookFixture fixture{"{token: t0ken}", "", "", "", server.url()};
  const auto daemon = fixture.start();
  const auto send_ten = [&](const std::string& name, bool is_repeated) {
    for (int i = 0; i < 10; ++i) {
      HttpAnswer answer;
      wait_until("it is taken", [&] {
        return (answer = fixture.send(name + std::to_string(i), std::to_string(i))).status == 202;
      });
      if (is_repeated) CHECK_THAT(answer.body, ContainsSubstring(R"("repeated": true)"));
    }
  };
  send_ten("stored-", false);
  fixture.wait_done(10);
  {
    Session reader{fixture.database.url(), fixture.database.schema()};
    reader.run("begin; lock table inbox.position in exclusive mode");  // ingest waits
    send_ten("staged-", false);
    server.snapshot();
  }
  fixture.database.session().close();
  fixture.wait_done(20);
  send_ten("lost-", false);
  fixture.wait_done(30);
  server.restore();
  fixture.database.session().close();
  fixture.wait_done(20);
  send_ten("stored-", true);
  send_ten("staged-", true);
  CHECK(fixture.database.number("select count(*) from inbox.events where source_id like 'lost-%'") == 0);
  send_ten("lost-", false);
  fixture.wait_done(30);
  fixture.database.wait_for("all are taken", "select count(*) from inbox.local_event", 0);
  CHECK(fixture.database.number("select count(*) from inbox.event") == 30);
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("an instance with another secret, another scheme or no http refuses, stores nothing and disturbs no other") {
  WebhookFixture fixture;
  const auto first = fixture.start();
  const auto stored = [&] {
    return fixture.database.number("select (select count(*) from inbox.local_event) + (select count(*) from "
                                   "inbox.ledger)");
  };
  const std::string open = WebhookFixture::topic("other", "{open: true}");
  int events = 0;
  for (const auto& [topic, status] : std::vector<std::pair<std::string, int>>{
           {WebhookFixture::topic("hooks", "{token: an0ther}"), 401},
           {WebhookFixture::topic("hooks", "{verify: {scheme: github, secret: a}}"), 401},
           {WebhookFixture::topic("hooks", "{token: t0ken, verify: {scheme: stripe, secret: whsec_a}}"), 401},
           {"{name: hooks, source: local}", 404}}) {
    CAPTURE(topic);
    const int port = free_port();
    const auto second = fixture.start_second(port, {topic, open});
    CHECK(post(port, "/v1/topics/hooks/events", "1", {"Authorization: Bearer t0ken", "Idempotency-Key: refused"})
              .status == status);
    const std::string id = std::to_string(events++);
    CHECK(fixture.send(id, "1").status == 202);
    CHECK_THAT(fixture.send(id, "1").body, ContainsSubstring(R"("repeated": true)"));
    fixture.wait_done(events);
    CHECK(stored() == events);
  }
  CHECK(fixture.send("refused", "1").status == 202);
  fixture.wait_done(events + 1);
}
