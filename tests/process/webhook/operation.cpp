// The port of ingest.listen: reload, TLS, metrics, and hostile clients.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <list>

#include "process/support/authority.hpp"
#include "process/webhook/webhook_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Prints the status of a POST over https.
constexpr const char* client = R"(
import http.client, ssl, sys
port, authority, certificate, key = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
if certificate: context.load_cert_chain(certificate, key)
connection = http.client.HTTPSConnection("localhost", int(port), context=context, timeout=30)
connection.request("POST", "/v1/topics/hooks/events", "1", {"Idempotency-Key": "x"})
print(connection.getresponse().status)
)";

std::string post_in_tls(int port, const Authority& authority, const Authority::Pair& own = {}) {
  const auto finished = run_to_end({.arguments = {"python3", "-c", client, std::to_string(port),
                                                  authority.certificate(), own.certificate, own.key}});
  return finished.status == ExitStatus{0, 0} ? finished.out : "no answer: " + finished.err;
}

std::string request(const std::string& id, const std::string& more = "", const std::string& body = "1") {
  return "POST /v1/topics/hooks/events HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + id + "\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

TEST_CASE("a reload takes new topics and tokens, and a changed file of a token needs none") {
  const TempFolder folder;
  const std::string file = (folder / "token").string();
  write_file(file, "first\n");
  WebhookFixture fixture{"{token: {file: '" + file + "'}}"};
  const auto daemon = fixture.start();
  const auto with = [&](const std::string& token, const std::string& topic) {
    return post(fixture.port, "/v1/topics/" + topic + "/events", "1",
                {"Authorization: Bearer " + token, "Idempotency-Key: x"}).status;
  };
  CHECK(with("first", "hooks") == 202);
  CHECK(with("second", "hooks") == 401);
  write_file(file, "second\n");
  wait_until("the new text counts", [&] { return with("second", "hooks") == 202; });
  CHECK(with("first", "hooks") == 401);
  fixture.config.topics.push_back(WebhookFixture::topic("more", "{token: third}"));
  daemon->write_config(fixture.config.text());
  daemon->process().signal(SIGHUP);
  wait_until("the new topic takes events", [&] { return with("third", "more") == 202; });
  CHECK_THAT(command(fixture.config, {"config", "show"}).out,
             ContainsSubstring("topics[1].http.token: ********") && !ContainsSubstring("third"));
}

TEST_CASE("ingest.tls serves https, to holders of a certificate alone if client_ca is set") {
  const Authority authority;
  const auto pair = authority.issue("server");
  WebhookFixture fixture{"{open: true}"};
  const std::string tls = "certificate: " + pair.certificate + ", key: " + pair.key;
  fixture.more_ingest = ", tls: {" + tls + ", client_ca: " + authority.certificate() + "}";
  fixture.config.sections["ingest"] = fixture.ingest(fixture.port);
  const auto daemon = fixture.start();
  CHECK_THAT(post_in_tls(fixture.port, authority), ContainsSubstring("no answer"));
  CHECK(post_in_tls(fixture.port, authority, authority.issue("sender")) == "202\n");
  CHECK(post(fixture.port, "/v1/topics/hooks/events", "1", {"Idempotency-Key: y"}).status == 0);
  fixture.wait_done(1);
}

TEST_CASE("two instances cannot share the port, and check reports contradictions of its settings") {
  WebhookFixture fixture;
  const auto daemon = fixture.start();
  DaemonProcess second{fixture.config};
  CHECK(second.process().wait() == ExitStatus{75, 0});
  CHECK_THAT(second.log(), ContainsSubstring("change ingest.listen, or set it to off"));
  const auto problem = [&](const std::string& http, const std::string& sentence) {
    ConfigText wrong = fixture.config;
    wrong.topics = {WebhookFixture::topic("hooks", http)};
    CHECK_THAT(command(wrong, {"check", "--offline"}).out, ContainsSubstring(sentence));
  };
  problem("{key: 'header:x'}", "nobody may post to this topic");
  problem("{token: a, open: true}", "contradicts http.token");
  problem("{verify: {scheme: github}}", "scheme and secret come together");
  problem("{open: true, headers: [authorization]}", "is a credential, and never kept");
}

TEST_CASE("commands that look and change work without the secrets of senders, handlers and registries") {
  WebhookFixture fixture{"{token: [{env: INBOXD_NO_SUCH_TOKEN}, \"${INBOXD_NO_SUCH_TOKEN}\"]}"};
  fixture.config.sections["admin"] = "listen: 'off', token: {file: /no/such/token}";
  fixture.config.handlers[0].settings["api_token"] = "{file: /no/such/token}";
  const auto status_of = [&](const std::vector<std::string>& words) {
    const auto said = command(fixture.config, words);
    CAPTURE(said.out, said.err);
    CHECK_THAT(said.err, !ContainsSubstring("INBOXD_NO_SUCH_TOKEN") && !ContainsSubstring("/no/such/token"));
    return said.status;
  };
  CHECK(status_of({"migrate"}) == ExitStatus{0, 0});
  const std::vector<std::vector<std::string>> commands{{"dead", "list"},
                                                       {"events", "list"},
                                                       {"handlers", "list"},
                                                       {"quarantine", "list"},
                                                       {"verify", "--against", "database"},
                                                       {"dead", "replay", "--all"}};
  for (const auto& words : commands) {
    CHECK(status_of(words).code != 78);
  }
  CHECK(status_of({"status"}).code != 78);
  for (const char* const word : {"run", "check"}) {
    const auto said = command(fixture.config, {word});
    CHECK_THAT(said.out + said.err, ContainsSubstring("INBOXD_NO_SUCH_TOKEN") && ContainsSubstring("/no/such/token"));
  }
}

TEST_CASE("metrics count requests by topic and outcome, and the log names refusals without contents") {
  WebhookFixture fixture{"{token: t0ken}", "body_limit: 2KiB"};
  const int admin = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(admin) + "'";
  const auto daemon = fixture.start();
  fixture.send("one", "1");
  fixture.send("one", "1");
  fixture.send("one", "2");
  fixture.send("", "2");
  fixture.send("x", "2", {}, "unknown");
  CHECK(fixture.send("large", std::string(3'000, 'x')).status == 413);
  RawConnection{fixture.port}.send("nonsense\r\n\r\n");
  const auto count = [&](const std::string& topic, const std::string& outcome) {
    return gauge(admin, "inboxd_ingest_http_requests_total{topic=\"" + topic + "\",outcome=\"" + outcome + "\"}");
  };
  CHECK(count("hooks", "accepted") == 1);
  CHECK(count("hooks", "repeated") == 1);
  CHECK(count("hooks", "conflict") == 1);
  CHECK(count("hooks", "invalid") == 1);
  CHECK(count("hooks", "too_large") == 1);
  CHECK(count("", "unknown_topic") == 1);
  CHECK(gauge(admin, "inboxd_ingest_http_waiting_requests") == 0);
  wait_until("the malformed request is counted", [&] { return count("", "invalid") == 1; });
  CHECK(gauge(admin, "inboxd_ingest_http_malformed_total") == 2);
  fixture.wait_done(1);
  const std::string id = fixture.database.text("select event_id from inbox.events");
  CHECK_THAT(daemon->log(), ContainsSubstring("status=409 client=127.0.0.1 bytes=1 event_id=" + id));
  CHECK_THAT(daemon->log(), ContainsSubstring("status=413 client=127.0.0.1 bytes=3000"));
  CHECK_THAT(daemon->log(), !ContainsSubstring("xxx"));
}

TEST_CASE("ambiguous, endless and oversized requests are refused, and pipelined requests are answered in order") {
  WebhookFixture fixture{"{open: true}", "header_limit: 2KiB, receive_timeout: 500ms"};
  const auto daemon = fixture.start();
  const auto status_of = [&](const std::string& bytes) {
    RawConnection connection{fixture.port};
    connection.send(bytes);
    const int status = connection.receive().status;
    CHECK(connection.ends());
    return status;
  };
  CHECK(status_of(request("a", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n")) == 411);  // and Content-Length
  CHECK(status_of("POST /v1/topics/hooks/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") ==
        411);
  CHECK(status_of(request("b", "Content-Length: 2\r\n")) == 400);
  CHECK(status_of(request("c", "X: " + std::string(3'000, 'x') + "\r\n")) == 431);
  CHECK(status_of("POST /v1/topics/hooks/events HTTP/1.1\r\nHost: a\r\nX: ") == 408);  // and no more
  CHECK(status_of(request("d", "Folded: a\r\n b\r\n")) == 400);

  RawConnection pipelined{fixture.port};
  pipelined.send(request("p-0") + request("p-1") + request("") + request("p-2"));
  for (const int status : {202, 202, 400, 202}) CHECK(pipelined.receive().status == status);
  fixture.wait_done(3);
  CHECK(fixture.database.text("select string_agg(source_id, ' ' order by \"offset\") from inbox.events") ==
        "p-0 p-1 p-2");
}

TEST_CASE("many silent connections keep no sender out") {
  WebhookFixture fixture{"{open: true}", "connections: 8"};
  const auto daemon = fixture.start();
  std::list<RawConnection> silent;
  for (int i = 0; i < 50; ++i) silent.emplace_back(fixture.port).send("POST /v1/top");
  CHECK(post(fixture.port, "/v1/topics/hooks/events", "1", {"Idempotency-Key: x"}).status == 202);
  fixture.wait_done(1);
}
