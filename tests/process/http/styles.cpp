// The shipped handler `http`: how events look on the wire, and over which wires they go.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "process/http/http_fixture.hpp"
#include "process/support/authority.hpp"
#include "support/collector.hpp"
#include "support/spans.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* an_id = "0b000000-0000-4000-8000-000000000001";

/// The folder of programs of the tests' Python packages.
std::filesystem::path services() {
  auto out = run_to_end({.arguments = {INBOXD_SERVICES_SETUP}}, 300'000ms).out;
  while (out.ends_with('\n')) out.pop_back();
  return out.substr(out.rfind('\n') + 1);
}

/// A service of asgi_service.py, on the given wire.
struct WireFixture : HttpFixture {
  Process& serve(std::vector<std::string> arguments) {
    std::vector<std::string> all{services() / "hypercorn", "--log-level", "error", "--workers", "0"};  // no child
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.emplace_back("asgi_service:app");
    server.emplace(Command{.arguments = all,
                           .environment = {{"REQUESTS", folder / "requests"},
                                           {"PYTHONPATH", std::filesystem::path{INBOXD_HTTP_SERVICE}.parent_path()}},
                           .err = folder / "service.err"});
    return *server;
  }
  std::optional<Process> server;
};

}  // namespace

TEST_CASE("in binary style attributes are headers, percent-encoded, and the payload is the body") {
  HttpFixture fixture{};
  const auto daemon = fixture.start();
  fixture.kafka.produce({{.topic = fixture.topic,
                          .key = "k\xc3\xa4y\r\nX-Evil: 1",
                          .payload = R"({"big": 12345678901234567890})",
                          .headers = {{"ce_specversion", "1.0"},
                                      {"ce_id", "ORDER 1%"},
                                      {"ce_source", "/shop"},
                                      {"ce_type", "OrderPlaced"},
                                      {"ce_subject", "a \"b\""},
                                      {"ce_time", "2026-01-02T03:04:05.5Z"},
                                      {"ce_tenant", "acme"},
                                      {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                                      {"content-type", "application/json"}}}});
  wait_until("it is posted", [&] { return fixture.requests().size() == 1; });
  const auto request = fixture.requests()[0];
  CHECK(request["body"] == R"({"big": 12345678901234567890})");
  const auto headers = request["headers"];
  CHECK(headers["ce-specversion"] == "1.0");
  CHECK(headers["ce-id"] == "ORDER%201%25");
  CHECK(headers["ce-source"] == "/shop");
  CHECK(headers["ce-type"] == "OrderPlaced");
  CHECK(headers["ce-subject"] == "a%20%22b%22");
  CHECK(headers["ce-time"] == "2026-01-02T03:04:05.500000Z");
  CHECK(headers["ce-partitionkey"] == "k%C3%A4y%0D%0AX-Evil:%201");
  CHECK(headers["ce-tenant"] == "acme");
  CHECK(headers["ce-kafkatopic"] == fixture.topic);
  CHECK(headers["ce-kafkapartition"] == "0");
  CHECK(headers["ce-kafkaoffset"] == "0");
  CHECK(headers["ce-attempt"] == "1");
  CHECK(headers["content-type"] == "application/json");
  CHECK(headers["traceparent"] == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  CHECK(headers.count("x-evil") == 0);
}

TEST_CASE("a request of a traced event carries the span of its attempt") {
  const Collector collector;
  HttpFixture fixture{};
  fixture.config.sections["tracing"] = "endpoint: \"" + collector.endpoint() + "\"";
  const auto daemon = fixture.start();
  Message message = event_message(fixture.topic, an_id);
  message.headers.emplace_back("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  fixture.kafka.produce({message});
  wait_until("the span has arrived", [&] { return named(spans_of(collector), "handle recorder").size() == 1; });
  const auto span = named(spans_of(collector), "handle recorder")[0];
  CHECK(fixture.requests().at(0)["headers"]["traceparent"] ==
        "00-" + span.at("traceId").get<std::string>() + "-" + span.at("spanId").get<std::string>() + "-01");
}

TEST_CASE("in structured style an event is a JSON object; bytes are data_base64, a tombstone has no data") {
  HttpFixture fixture{};
  fixture.set("style", "cloudevents-structured");
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, an_id, R"({"n": 1})", "A")});
  fixture.kafka.produce({event_message(fixture.topic, "0b000000-0000-4000-8000-000000000002", "\xff\x00x", "B")});
  Message tombstone = event_message(fixture.topic, "0b000000-0000-4000-8000-000000000003", "", "C");
  tombstone.payload = std::nullopt;
  fixture.kafka.produce({tombstone});
  wait_until("they are posted", [&] { return fixture.requests().size() == 3; });
  std::map<std::string, nlohmann::json> events;
  for (const auto& request : fixture.requests()) {
    CHECK(request["headers"]["content-type"] == "application/cloudevents+json; charset=utf-8");
    const auto event = nlohmann::json::parse(request["body"].get<std::string>());
    events[event["type"]] = event;
  }
  CHECK(events["A"]["data"] == nlohmann::json{{"n", 1}});
  CHECK(events["A"]["id"] == an_id);
  CHECK(events["A"]["datacontenttype"] == "application/json");
  CHECK(events["B"]["data_base64"] == "/w==");  // the literal ends at its NUL
  CHECK(events["C"].count("data") == 0);
  CHECK(events["C"]["tombstone"] == "true");
}

TEST_CASE("several events are posted as a batch, which may be answered with a verdict for each") {
  HttpFixture fixture{{"events_per_call: 20"}};
  const auto daemon = fixture.start();
  std::vector<Message> all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(event_message(fixture.topic, "0b000000-0000-4000-8000-0000000000" + std::to_string(10 + i), "{}",
                                i == 30   ? "Dead"
                                : i == 55 ? "Poison"
                                          : "Happened"));
  }
  fixture.kafka.produce(all);
  CHECK(fixture.states(60).starts_with("dead dead done"));
  CHECK_THAT(fixture.failures(), ContainsSubstring("my.class: no way") && ContainsSubstring("http.400"));
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 2);
  bool has_batch = false;
  for (const auto& request : fixture.requests()) {
    has_batch = has_batch || request["headers"]["content-type"] == "application/cloudevents-batch+json; charset=utf-8";
  }
  CHECK(has_batch);
}

TEST_CASE("an event that comes alone is a batch of its own, and its verdict counts on each attempt") {
  HttpFixture fixture{GENERATE(std::vector<std::string>{"events_per_call: 20"},
                               std::vector<std::string>{"mode: batch", "batch: {every: 200ms}"})};
  const auto daemon = fixture.start();
  const auto id = fixture.produce(1, "Later").at(0);
  CHECK(fixture.states(1) == "dead");
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 2);
  const auto requests = fixture.requests();
  REQUIRE(requests.size() == 2);
  for (const auto& request : requests) {
    CHECK(request["headers"]["content-type"] == "application/cloudevents-batch+json; charset=utf-8");
    CHECK(request["headers"]["idempotency-key"] == id);
    CHECK(request["headers"]["webhook-id"] == id);
  }
}

TEST_CASE("a verdict names the event's idempotencykey; an id that several events have fails all") {
  HttpFixture fixture{{"events_per_call: 20"}};
  const bool is_by_key = GENERATE(true, false);
  CAPTURE(is_by_key);
  std::vector<Message> same_id;
  for (const char* const source : {"/a", "/b"}) {
    const bool is_dead = std::string{source} == "/b";
    same_id.push_back({.topic = fixture.topic,
                       .key = "k",
                       .payload = "{}",
                       .headers = {{"ce_specversion", "1.0"},
                                   {"ce_id", "v1"},
                                   {"ce_source", source},
                                   {"ce_type", !is_dead    ? "Happened"
                                               : is_by_key ? "DeadByKey"
                                                           : "Dead"}}});
  }
  fixture.kafka.produce(same_id);
  const auto daemon = fixture.start();
  if (is_by_key) {
    CHECK(fixture.states(2) == "dead done");
    CHECK_THAT(fixture.failures(), ContainsSubstring("my.class"));
  } else {
    fixture.database.wait_for("both have failed",
                              "select count(*) from inbox.failures where error_class = 'http.broken_answer'", 2);
    CHECK_THAT(fixture.failures(), ContainsSubstring("fits several events of the request; use idempotencykey"));
  }
}

TEST_CASE("a single verdict is read as a list") {
  HttpFixture fixture{{"events_per_call: 20"}};
  const auto daemon = fixture.start();
  fixture.produce(1, "DeadAlone");
  CHECK(fixture.states(1) == "dead");
  CHECK_THAT(fixture.failures(), ContainsSubstring("my.class"));
}

TEST_CASE("verdicts that cannot be read, or name a stranger, are a failure of all, on each attempt") {
  const std::string type = GENERATE("LongDead", "Stranger", "StrangerAlone", "Broken");
  CAPTURE(type);
  HttpFixture fixture{{"events_per_call: 20"}};
  fixture.set("max_body", "500");
  const auto daemon = fixture.start();
  fixture.produce(20, type);
  fixture.database.wait_for("none is done",
                            "select count(*) from inbox.dead_letters where error_class = "
                            "'http.broken_answer'",
                            20);
}

TEST_CASE("further attributes of a CloudEvent in the value are passed on") {
  const bool is_binary = GENERATE(true, false);
  CAPTURE(is_binary);
  HttpFixture fixture{};
  if (!is_binary) fixture.set("style", "cloudevents-structured");
  const auto daemon = fixture.start();
  fixture.kafka.produce({{.topic = fixture.topic,
                          .key = "k",
                          .payload = R"({"specversion": "1.0", "id": "e1", "source": "/shop", "type": "A",)"
                                     R"( "tenant": "acme", "sequence": 7, "data": {"n": 1}})",
                          .headers = {{"content-type", "application/cloudevents+json"}, {"ce_tenant", "other"}}}});
  wait_until("it is posted", [&] { return fixture.requests().size() == 1; });
  const auto request = fixture.requests()[0];
  const auto body = nlohmann::json::parse(request["body"].get<std::string>());
  const nlohmann::json data{{"n", 1}};
  if (is_binary) {
    CHECK(request["headers"].value("ce-tenant", "") == "acme");
    CHECK(request["headers"].value("ce-sequence", "") == "7");
    CHECK(body == data);
  } else {
    CHECK(body.value("tenant", "") == "acme");
    CHECK(body.value("sequence", "") == "7");
    CHECK(body.value("data", nlohmann::json{}) == data);
  }
}

TEST_CASE("a payload that is nested very deep is posted like any other") {
  HttpFixture fixture{};
  fixture.set("style", "cloudevents-structured");
  const auto daemon = fixture.start();
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  fixture.kafka.produce({event_message(fixture.topic, an_id, R"({"specversion":"1.0","id":"x","data":)" + deep + "}")});
  CHECK(fixture.states(1) == "done");
}

TEST_CASE("requests are signed for each secret, as the reference library of Standard Webhooks demands") {
  HttpFixture fixture{};
  const std::vector<std::string> secrets{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                         "whsec_bm90IHNvIHNlY3JldCwgYnV0IGxvbmcgZW5vdWdo"};
  std::ofstream{fixture.folder / "new"} << secrets[1] << "\n";
  fixture.set("signing_secret", "[\"" + secrets[0] + "\", {file: " + (fixture.folder / "new").string() + "}]");
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, an_id, "{\"text\": \"\xc3\xa4\"}")});
  wait_until("it is posted", [&] { return fixture.requests().size() == 1; });
  for (const std::string& secret : secrets) {
    const auto verified = run_to_end(
        {.arguments = {services() / "python", "-c",
                       "import json, sys\n"
                       "from standardwebhooks.webhooks import Webhook\n"
                       "request = json.loads(open(sys.argv[1]).readline())\n"
                       "Webhook(sys.argv[2]).verify(request['body'].encode('latin-1'), request['headers'])\n",
                       fixture.folder / "requests", secret}});
    INFO(verified.err);
    CHECK(verified.status == ExitStatus{0, 0});
  }
  CHECK(daemon->count_in_log("whsec_") == 0);
}

TEST_CASE("an application that is written with Dapr's SDK works unchanged") {
  HttpFixture fixture{};
  const std::string port = std::to_string(free_port());
  const auto seen = fixture.folder / "seen";
  Process application{
      {.arguments = {services() / "python",
                     std::filesystem::path{INBOXD_HTTP_SERVICE}.parent_path() / "dapr_service.py", port, seen},
       .err = fixture.folder / "service.err"}};
  fixture.set("url", "http://127.0.0.1:" + port + "/orders");
  fixture.set("style", "dapr");
  fixture.config.handlers[0].more.push_back("events_per_call: 5");
  const auto daemon = fixture.start();
  const char* const body = R"({"order": "4711"})";
  for (int i = 0; i < 9; ++i) {
    fixture.kafka.produce({event_message(fixture.topic, "0b000000-0000-4000-8000-00000000000" + std::to_string(i), body,
                                         i == 3   ? "Dropped"
                                         : i == 5 ? "Later"
                                                  : "Happened")});
  }
  CHECK(fixture.states(9) == "dead dead done done done done done done done");
  CHECK(fixture.database.number("select count(*) from inbox.failures where error_class = 'http.retry'") == 3);
  CHECK(fixture.database.number("select count(*) from inbox.failures where error_class = 'http.dropped'") == 1);
  const std::string lines = read_file(seen);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 11);
  CHECK_THAT(lines, ContainsSubstring("Happened 0b000000-0000-4000-8000-000000000008 4711\n"));
}

TEST_CASE("a placeholder becomes a segment of the path, or its event is dead") {
  HttpFixture fixture{};
  fixture.set("url", "http://127.0.0.1:" + fixture.port + "/in/{topic}/{key}?type={type}");
  const auto daemon = fixture.start();
  auto tricky = event_message(fixture.topic, an_id, "{}", "a&b=c");
  tricky.key = "../admin?x=\r\n#";
  auto upwards = event_message(fixture.topic, "0b000000-0000-4000-8000-000000000002");
  upwards.key = "..";
  fixture.kafka.produce({tricky, upwards});
  CHECK(fixture.states(2) == "dead done");
  REQUIRE(fixture.requests().size() == 1);
  CHECK(fixture.requests()[0]["path"] == "/in/" + fixture.topic + "/..%2Fadmin%3Fx%3D%0D%0A%23?type=a%26b%3Dc");
  CHECK_THAT(fixture.failures(), ContainsSubstring("http.url: "));
}

TEST_CASE("link-local addresses are refused, in each notation") {
  HttpFixture fixture{};
  fixture.config.handlers[0].more[0] = "retry: {max_attempts: 1}";
  for (const char* const host :
       {"169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]", "[fd00:ec2::254]", "2852039166"}) {
    HttpFixture each{};
    each.config.handlers[0].more[0] = "retry: {max_attempts: 1}";
    each.set("url", std::string{"http://"} + host + "/latest/meta-data");
    const auto daemon = each.start();
    each.produce(1);
    CHECK(each.states(1) == "dead");
    CHECK_THAT(each.failures(), ContainsSubstring("http.link_local"));
  }
}

TEST_CASE("events go over a Unix socket") {
  WireFixture fixture;
  fixture.serve({"--bind", "unix:" + (fixture.folder / "socket").string()});
  wait_until("it listens", [&] { return std::filesystem::exists(fixture.folder / "socket"); });
  fixture.set("unix_socket", fixture.folder / "socket");
  fixture.set("url", "http://orders/events");
  const auto daemon = fixture.start();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.failures().empty());
  const auto requests = fixture.requests();
  CHECK(requests.size() == 100);
  CHECK(requests.at(0)["version"] == "1.1");
}

TEST_CASE("TLS checks the service's certificate, shows a certificate of its own, and brings HTTP/2") {
  WireFixture fixture;
  const Authority authority;
  const auto server = authority.issue("server"), client = authority.issue("client");
  const std::string port = std::to_string(free_port());
  fixture.serve({"--bind", "127.0.0.1:" + port, "--certfile", server.certificate, "--keyfile", server.key,
                 "--ca-certs", authority.certificate(), "--verify-mode", "CERT_REQUIRED"});
  fixture.set("url", "https://localhost:" + port + "/events");
  fixture.set("certificate", client.certificate);
  fixture.set("certificate_key", client.key);
  SECTION("a known authority") {
    fixture.set("ca", authority.certificate());
    const auto daemon = fixture.start();
    fixture.produce(200);
    CHECK(fixture.wait_done().is_perfect());
    CHECK(fixture.failures().empty());
    CHECK(fixture.requests().at(0)["scheme"] == "https");
    CHECK(fixture.requests().at(0)["version"] == "2");
  }
  SECTION("an unknown authority costs no attempt and sends nothing") {
    wait_until("it listens", [&] {
      return run_to_end({.arguments = {"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port}}).status == ExitStatus{0, 0};
    });
    const auto daemon = fixture.start();
    fixture.produce(1);
    daemon->wait_log("its events wait uncharged: http.tls");
    CHECK(fixture.requests().empty());
    CHECK(fixture.failures().empty());
  }
}

TEST_CASE("mistakes in the settings of http are refused with the remedy") {
  const auto refused = [](const std::string& name, const std::string& value) {
    HttpFixture wrong{};
    wrong.set(name, value);
    return command(wrong.config, {"check"}).out;
  };
  CHECK_THAT(refused("url", "ftp://x/"), ContainsSubstring("it must begin with http:// or https://"));
  CHECK_THAT(refused("url", "'http://{topic}.example/'"), ContainsSubstring("events do not choose the server"));
  CHECK_THAT(refused("url", "'http://x/{nothing}'"), ContainsSubstring("a placeholder is one of"));
  CHECK_THAT(refused("style", "json"), ContainsSubstring("cloudevents-structured or dapr"));
  CHECK_THAT(refused("permanent", "[429]"), ContainsSubstring("a list of statuses from 400 to 599"));
  CHECK_THAT(refused("health", "/health"), ContainsSubstring("{path: /health, every: 5s}"));
  CHECK_THAT(refused("ca", "/no/such"), ContainsSubstring("a file that the daemon may read"));
  CHECK_THAT(refused("colour", "red"), ContainsSubstring("unknown setting 'colour'"));
  for (const char* const port : {"70000", "65536", "x"}) {
    CHECK_THAT(refused("url", std::string{"http://127.0.0.1:"} + port + "/events"),
               ContainsSubstring("its port must be a number up to 65535"));
  }
  CHECK_THAT(refused("unix_socket", "orders.sock"), ContainsSubstring("it must be an absolute path"));
  for (const char* const url : {"http://bob:hunter2@127.0.0.1/", "http://hunter2@127.0.0.1:70000/"}) {
    CHECK_THAT(refused("url", url),
               ContainsSubstring("set headers: {Authorization: {file: …}}") && !ContainsSubstring("hunter2"));
  }
  const auto secret = refused("signing_secret", "hunter2");
  CHECK_THAT(secret, ContainsSubstring("openssl rand") && !ContainsSubstring("hunter2"));
}

// fault: secrets under any name, from any form
TEST_CASE("a token under any name comes from a file, is hidden, and is read again when it rotates") {
  HttpFixture fixture{};
  const auto token = fixture.folder / "token";
  write_file(token, "first-token\n");
  fixture.set("headers", "{X-Api-Key: {file: " + token.string() + "}}");
  const auto daemon = fixture.start();
  fixture.produce(1);
  CHECK(fixture.wait_done().is_perfect());
  write_file(token, "second-token\n");
  daemon->wait_log("daemon: reloaded");
  fixture.produce(1);
  CHECK(fixture.wait_done().is_perfect());
  const auto requests = fixture.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0]["headers"]["x-api-key"] == "first-token");
  CHECK(requests[1]["headers"]["x-api-key"] == "second-token");
  CHECK(command(fixture.config, {"config", "show"}).out.find("-token") == std::string::npos);
  CHECK(daemon->log().find("-token") == std::string::npos);
}
