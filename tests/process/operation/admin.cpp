// The admin port of a running daemon: permissions, and hostile clients that do not disturb it.
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <list>
#include <nlohmann/json.hpp>
#include <set>

#include "process/support/admin_fixture.hpp"
#include "process/support/background_producer.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

struct IngestProgress {
  IngestProgress(Database& of, BackgroundProducer& with) : database{of}, producer{with} { wait_for_all_produced(); }
  /// Waits for half a second's worth of records, and until all are stored.
  void wait_for_all_produced() {
    producer.wait_for_more(500);
    const std::int64_t wanted = producer.produced();
    wait_until("what was produced is stored",
               [&] { return database.number("select count(*) from inbox.event") >= wanted; });
  }

  Database& database;
  BackgroundProducer& producer;
};

std::string host() {
  std::array<char, 256> name{};
  REQUIRE(gethostname(name.data(), name.size() - 1) == 0);
  return name.data();
}

std::string message_of(const HttpAnswer& answer) { return json::parse(answer.body).value("message", ""); }

}  // namespace

TEST_CASE("the admin port shows whether the daemon has started, is ready and lives; health asks it") {
  AdminFixture admin;
  auto daemon = admin.start();
  for (const char* const path : {"/livez", "/readyz", "/startupz"}) {
    CAPTURE(path);
    const auto answer = get(admin.port, path);
    CHECK(answer.status == 200);
    CHECK(json::parse(answer.body).at("is_well") == true);
  }
  const auto healthy = command(admin.config, {"health"});
  CHECK(healthy.status == ExitStatus{0, 0});
  CHECK_THAT(healthy.out, ContainsSubstring("alive") && ContainsSubstring("ready"));
  daemon->stop();
  CHECK(command(admin.config, {"health"}).status == ExitStatus{1, 0});
}

TEST_CASE("a daemon that waits for its database is live, but neither started nor ready") {
  PrivatePostgres postgres;
  AdminFixture admin{1, "", postgres.url()};
  postgres.stop();
  DaemonProcess daemon{admin.config};
  daemon.wait_log("kind=admin.listening");
  CHECK(get(admin.port, "/livez").status == 200);
  CHECK(get(admin.port, "/startupz").status == 503);
  CHECK(get(admin.port, "/readyz").status == 503);
  CHECK(command(admin.config, {"health", "--live"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"health"}).status == ExitStatus{1, 0});
  postgres.start();
  daemon.wait_ready();
  CHECK(get(admin.port, "/readyz").status == 200);
  daemon.kill();
}

TEST_CASE("without its database a running daemon stays live and ready, and operations report the database") {
  PrivatePostgres postgres;
  AdminFixture admin{1, "", postgres.url()};
  auto daemon = admin.start();
  CHECK(get(admin.port, "/v1/status").status == 200);
  postgres.stop();
  const auto status = get(admin.port, "/v1/status");
  CHECK(status.status == 503);
  CHECK(status.headers.at("inboxd-exit-status") == "69");
  CHECK_THAT(message_of(status), ContainsSubstring("database"));
  CHECK(get(admin.port, "/livez").status == 200);
  CHECK(get(admin.port, "/readyz").status == 200);
  wait_until("metrics tell of the database", [&] {
    return gauge(admin.port, "inboxd_database_connections_refused_total") > 0 &&
           gauge(admin.port, "inboxd_database_connections") == 0;
  });
  // Operations on the daemon alone need no database, and are audited once it is back.
  CHECK(post(admin.port, "/v1/instance/pause", "{}", change).status == 200);
  postgres.start();
  wait_until("operations work again", [&] { return get(admin.port, "/v1/status").status == 200; });
  admin.database.wait_for("the audit knows it",
                          "select count(*) from inbox.audit where operation = 'instance pause' and actor like "
                          "'%admin port, 127.0.0.1'",
                          1);
  daemon->kill();
}

TEST_CASE("without its brokers a running daemon stays live and ready, and reports that nothing is read") {
  AdminFixture admin;
  Proxy proxy{std::stoi(admin.config.brokers.substr(admin.config.brokers.rfind(':') + 1))};
  admin.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  proxy.refuse(true);
  auto daemon = admin.start();
  CHECK(get(admin.port, "/livez").status == 200);
  CHECK(get(admin.port, "/readyz").status == 200);
  CHECK(json::parse(get(admin.port, "/v1/instance/show").body).at("partitions").empty());
  wait_until("metrics tell of the brokers",
             [&] { return gauge(admin.port, "inboxd_kafka_errors_total{error=\"unanswered\"}") > 0; });
  CHECK(get(admin.port, "/livez").status == 200);
  daemon->kill();
}

TEST_CASE("reading needs this machine, everything else needs the token") {
  AdminFixture admin;
  auto daemon = admin.start();
  const int port = admin.port;
  CHECK(get(port, "/v1/status").status == 200);
  CHECK(get(port, "/v1/status", with_token).status == 200);
  const auto wrong = get(port, "/v1/status", {"Authorization: Bearer wrong"});
  CHECK(wrong.status == 401);
  CHECK(wrong.headers.at("www-authenticate").starts_with("Bearer"));
  CHECK(get(port, "/v1/status", {"Authorization: Basic " + token}).status == 401);
  CHECK(get(port, "/v1/status", {"Authorization: Bearer " + token + "x"}).status == 401);
  CHECK(get(port, "/v1/status", {"Authorization: Bearer "}).status == 401);
  CHECK(get(port, "/v1/status", {"X-Forwarded-For: 203.0.113.7"}).status == 401);
  CHECK(post(port, "/v1/instance/pause", "{}", as_json).status == 401);
  CHECK(post(port, "/v1/instance/pause", "{}", {as_json[0], "Authorization: Bearer wrong"}).status == 401);

  CHECK(get(port, "/v1/shards/list").status == 200);  // the former path of /v1/partitions/list
  CHECK(get(port, "/v1/nothing").status == 404);
  CHECK(get(port, "/nothing").status == 404);
  const auto posted = post(port, "/v1/status", "{}", change);
  CHECK(posted.status == 405);
  CHECK(posted.headers.at("allow") == "GET, HEAD");
  CHECK(get(port, "/v1/instance/pause", with_token).status == 405);
  CHECK(ask(port, {.method = "OPTIONS", .target = "/v1/instance/pause"}).status == 405);
  CHECK(ask(port, {.method = "HEAD", .target = "/v1/status"}).status == 200);
  const auto refused = [&](const std::string& status) {
    return gauge(port, "inboxd_admin_requests_refused_total{status=\"" + status + "\"}");
  };
  CHECK(refused("401") == 7);
  CHECK(refused("403") == 0);
  CHECK(refused("other") == 5);
  CHECK_THAT(daemon->log(), !ContainsSubstring(token));
}

// fault: service mesh or proxy on loopback
TEST_CASE("with read: token only health needs no token, on loopback and on the socket") {
  const TempFolder folder;
  const std::string socket = (folder / "admin.sock").string();
  AdminFixture admin{1, ", read: token, read_token: " + read_token + ", socket: " + socket};
  auto daemon = admin.start();
  // A service mesh delivers other machines' requests from an address such as this.
  const auto status_from_mesh = [&](const std::string& method, const std::string& path) {
    RawConnection connection{admin.port, "127.0.0.6"};
    connection.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + as_json[0] + "\r\n\r\n");
    return connection.receive().status;
  };
  const auto status_by_socket = [&](const std::string& path) {
    RawConnection connection{socket};
    connection.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return connection.receive().status;
  };
  const std::set<std::string> health{"/livez", "/readyz", "/startupz"};
  const auto document = json::parse(get(admin.port, "/openapi.json", with_read_token).body);
  REQUIRE(document.at("paths").size() > 20);
  for (const auto& [path, methods] : document.at("paths").items()) {
    CAPTURE(path);
    const bool reads = methods.contains("get");
    const int wanted = health.contains(path) ? 200 : 401;
    CHECK(status_from_mesh(reads ? "GET" : "POST", path) == wanted);
    if (reads) CHECK(status_by_socket(path) == wanted);
    const auto answer =
        reads ? get(admin.port, path, with_read_token)
              : post(admin.port, path, R"({"dry-run": true})", {with_read_token[0], as_json[0]});
    if (reads) CHECK((answer.status == 200 || answer.status == 400));  // 400: an id is missing
    if (!reads) CHECK(answer.status == 403);
  }
  CHECK(command(admin.config, {"health"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "show"}).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "pause", "--yes"}).status == ExitStatus{0, 0});
  CHECK_THAT(daemon->log(), !ContainsSubstring(token) && !ContainsSubstring(read_token));
}

TEST_CASE("with only the read token the command line reads the daemon's state and cannot change it") {
  AdminFixture admin;
  admin.config.sections["admin"] =
      "listen: '127.0.0.1:" + std::to_string(admin.port) + "', read: token, read_token: " + read_token;
  auto daemon = admin.start();
  CHECK(command(admin.config, {"instance", "show"}).status == ExitStatus{0, 0});
  const auto refused = command(admin.config, {"instance", "pause", "--yes"});
  CHECK(refused.status == ExitStatus{77, 0});
  CHECK_THAT(refused.err, ContainsSubstring("admin.read_token allows no change"));
}

// fault: thousands of admin requests that close at once
TEST_CASE("twenty thousand slow searches that disconnect at once leave queue and memory bounded") {
  AdminFixture admin{1, ", connections: 64, queue: 16"};
  auto daemon = admin.start();
  CHECK(get(admin.port, "/v1/dead/list").status == 401);  // refused at once without the token
  Session holder{admin.database.url(), admin.database.schema()};
  holder.run("begin; lock table inbox.dead_letter in access exclusive mode");
  const std::string request = "GET /v1/dead/list?message=" + std::string(8'000, 'x') +
                              " HTTP/1.1\r\nHost: localhost\r\n" + with_token[0] + "\r\n\r\n";
  RawConnection first{admin.port};  // the search that delays the others
  first.send(request);
  const std::size_t before = resident_bytes(daemon->process().id());
  std::size_t max_memory = before;
  double max_waiting = 0;
  std::int64_t longest = 0;
  for (int i = 0; i < 20'000; ++i) {
    // From many addresses: a closed connection keeps its port for a minute.
    RawConnection{admin.port, "127.0.1." + std::to_string(1 + i % 200)}.send(request);
    if (i % 200 != 199) continue;
    const auto began = monotonic_ms();
    REQUIRE(get(admin.port, "/livez").status == 200);
    longest = std::max(longest, monotonic_ms() - began);
    max_waiting = std::max(max_waiting, gauge(admin.port, "inboxd_admin_requests_waiting"));
    max_memory = std::max(max_memory, resident_bytes(daemon->process().id()));
  }
  WARN("at most " << max_waiting << " requests waited, memory grew by " << (max_memory - before) / 1024
                  << " KiB, a health check took at most " << longest << " ms");
  CHECK(max_waiting <= 16);
  CHECK(max_memory - before < 32u << 20);
  CHECK(longest < 10'000);
  wait_until("the queue is empty", [&] { return gauge(admin.port, "inboxd_admin_requests_waiting") == 0; });
  holder.run("rollback");
  wait_until("searches are answered again",
             [&] { return get(admin.port, "/v1/dead/list", with_token).status == 200; });
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

// fault: hostile admin requests (foreign Host, cross-site form, slow client, huge body)
TEST_CASE("requests from pages of other sites are refused") {
  AdminFixture admin{1, ", hosts: [inboxd.internal]"};
  auto daemon = admin.start();
  const auto status_for = [&](const std::vector<std::string>& headers) {
    return get(admin.port, "/v1/status", headers).status;
  };
  CHECK(status_for({"Host: evil.example"}) == 403);
  CHECK(status_for({"Host: localhost.evil.example"}) == 403);
  CHECK(status_for({"Host: localhost:" + std::to_string(admin.port)}) == 200);
  CHECK(status_for({"Host: 127.0.0.1"}) == 200);
  CHECK(status_for({"Host: [::1]:9470"}) == 200);
  CHECK(status_for({"Host: inboxd.internal:80"}) == 200);
  CHECK(status_for({"Origin: https://evil.example"}) == 403);
  CHECK(status_for({"Origin: null"}) == 403);
  CHECK(status_for({"Host: localhost", "Origin: http://localhost"}) == 200);
  CHECK(status_for({"Sec-Fetch-Site: cross-site"}) == 403);
  CHECK(status_for({"Sec-Fetch-Site: same-site"}) == 403);
  CHECK(status_for({"Sec-Fetch-Site: same-origin"}) == 200);
  CHECK(get(admin.port, "/metrics", {"Host: evil.example"}).status == 403);
  CHECK(get(admin.port, "/livez", {"Host: 10.0.0.7.nip.example"}).status == 200);  // a probe may use any host name

  // A form, with a token that no browser sends by itself: still not JSON, still another site.
  const auto form = std::vector<std::string>{with_token[0], "Content-Type: application/x-www-form-urlencoded"};
  CHECK(post(admin.port, "/v1/instance/pause", "a=b", form).status == 415);
  CHECK(post(admin.port, "/v1/instance/pause", "{}", {with_token[0], "Content-Type: text/plain"}).status == 415);
  CHECK(post(admin.port, "/v1/instance/pause", "{}", with_token).status == 415);
  CHECK(post(admin.port, "/v1/instance/pause", "{}", {change[0], change[1], "Sec-Fetch-Site: cross-site"}).status ==
        403);
  CHECK(json::parse(get(admin.port, "/v1/instance/show").body).at("paused") == false);
}

// fault: hostile admin requests (foreign Host, cross-site form, slow client, huge body)
TEST_CASE("hostile requests are refused, each with its reason, and ingest continues", "[alone]") {
  AdminFixture admin{2, ", receive_timeout: 300ms, body_limit: 1KiB, header_limit: 2KiB"};
  auto daemon = admin.start();
  BackgroundProducer producer{admin.fixture, 500};
  IngestProgress progress{admin.database, producer};
  const int port = admin.port;
  const auto raw = [&](const std::string& bytes) {
    RawConnection connection{port};
    connection.send(bytes);
    return connection.receive().status;
  };
  CHECK(post(port, "/v1/instance/pause", std::string(1025, ' '), change).status == 413);
  CHECK(raw("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n") == 413);
  CHECK(raw("POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n") == 413);
  CHECK(raw("GET / HTTP/1.1\r\nHost: localhost\r\nA: " + std::string(3000, 'a') + "\r\n\r\n") == 431);
  CHECK(raw("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\n") == 431);
  CHECK(raw("GET / HTTP/1.1\r\nHost: localhost\r\n" +
            [] {
              std::string s;
              for (int i = 0; i < 101; ++i) s += "a:b\r\n";
              return s;
            }() +
            "\r\n") == 431);
  CHECK(raw("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(raw("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
  CHECK(raw("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n") == 400);
  CHECK(raw("GET / HTTP/1.1\r\nHost : a\r\n\r\n") == 400);
  CHECK(raw("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400);
  CHECK(raw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n") == 400);
  CHECK(raw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n") == 400);
  CHECK(raw("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 411);
  CHECK(raw("GET / HTTP/2.0\r\nHost: a\r\n\r\n") == 505);
  CHECK(raw(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)) == 400);
  CHECK(raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 400);
  CHECK(raw("GET / HTTP/1.1\r\nHost: loc") == 408);
  CHECK(raw("POST /v1/instance/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{") == 408);
  {
    // Sending byte by byte extends no timeout.
    RawConnection slow{port};
    const auto began = monotonic_ms();
    for (const char c : std::string(200, 'a')) {
      if (!slow.send({&c, 1}) || slow.ends(milliseconds{20})) break;
    }
    CHECK(monotonic_ms() - began < 3'000);
  }
  CHECK(RawConnection{port}.ends(milliseconds{5'000}));  // sends nothing
  // Two pipelined requests are answered in order.
  RawConnection both{port};
  both.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(both.receive().status == 200);
  CHECK(both.receive().status == 404);

  const auto refused = post(port, "/v1/dead/replay", "{\"handlre\": \"x\"}", change);
  CHECK(refused.status == 400);
  CHECK_THAT(message_of(refused), ContainsSubstring("handler"));
  CHECK(post(port, "/v1/dead/replay", "[]", change).status == 400);
  CHECK(post(port, "/v1/dead/replay", "{\"all\": \"yes\"}", change).status == 400);
  CHECK(post(port, "/v1/dead/replay", std::string(900, '['), change).status == 400);
  CHECK(get(port, "/v1/events/show", with_token).status == 400);
  CHECK(get(port, "/v1/events/show?id=%zz", with_token).status == 400);
  CHECK(get(port, "/v1/events/list?limit=0", with_token).status == 400);
  CHECK(get(port, "/v1/events/list?limit=1&limit=2", with_token).status == 400);
  progress.wait_for_all_produced();
  producer.finish();
  CHECK(admin.fixture.wait_done().is_perfect());
}

TEST_CASE("a thousand slow connections block no other client, and ingest does not notice") {
  AdminFixture admin{2};
  auto daemon = admin.start();
  BackgroundProducer producer{admin.fixture, 1'000};
  IngestProgress progress{admin.database, producer};
  std::list<RawConnection> connections;
  std::int64_t longest = 0;
  for (int i = 0; i < 1'000; ++i) {
    auto& one = connections.emplace_back(admin.port);
    if (i % 3 == 1) one.send("GET /v1/status HTTP/1.1\r\nHost: loc");
    if (i % 3 == 2) one.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (i % 100 != 0) continue;
    const auto began = monotonic_ms();
    CHECK(get(admin.port, "/livez").status == 200);
    longest = std::max(longest, monotonic_ms() - began);
  }
  CHECK(get(admin.port, "/v1/status").status == 200);
  progress.wait_for_all_produced();
  producer.finish();
  const auto counts = admin.fixture.wait_done();
  WARN("a health check waited at most " << longest << " ms; " << counts.text());
  CHECK(longest < 3'000);
  CHECK(counts.is_perfect());
}

TEST_CASE("operations over HTTP answer like the command line, and changes are audited with their actor") {
  AdminFixture admin;
  admin.fixture.set("fail_type", "Bad");
  admin.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  auto daemon = admin.start();
  admin.fixture.kafka.produce({event_message(admin.topic, "bad00000-0000-4000-8000-000000000001", "{}", "Bad")});
  admin.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);

  const auto list = json::parse(get(admin.port, "/v1/dead/list?handler=recorder", with_token).body);
  CHECK(list.at("total") == 1);
  const auto typed = json::parse(command(admin.config, {"dead", "list", "--handler", "recorder", "--json"}).out);
  CHECK(list == typed);
  CHECK(get(admin.port, "/v1/dead/list?handler=nobody", with_token).status == 200);
  CHECK(get(admin.port, "/v1/dead/show?id=9999", with_token).status == 404);
  const auto event = json::parse(get(admin.port, "/v1/events/show?id=" + admin.topic + "%2F0%2F0", with_token).body);
  CHECK(event.at("event").at("event_id") == "bad00000-0000-4000-8000-000000000001");

  CHECK(post(admin.port, "/v1/dead/replay", "{}", change).status == 400);  // a filter is missing
  const auto plan = post(admin.port, "/v1/dead/replay", R"({"all": true, "dry-run": true})", change);
  CHECK(json::parse(plan.body).at("matched") == 1);
  CHECK(admin.database.number("select count(*) from inbox.audit where operation like 'dead %'") == 0);
  const auto done = post(admin.port, "/v1/dead/discard", R"({"handler": "recorder", "type": ["Bad"]})",
                         {change[0], change[1], "Inboxd-Actor: alice@laptop\t"});
  CHECK(done.status == 200);
  CHECK(json::parse(done.body).at("discarded") == 1);
  CHECK(admin.database.text("select actor from inbox.audit where operation like 'dead %'") ==
        "alice@laptop, admin port, 127.0.0.1");
  CHECK(post(admin.port, "/v1/dead/discard", R"({"all": true})", change).status == 409);
}

TEST_CASE("changes at a terminal are audited with the user who typed them, also through sudo") {
  DaemonFixture fixture{1};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  const auto daemon = fixture.start();
  fixture.produce(1, "Bad");
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  const std::map<std::string, std::string> alice{{"SUDO_USER", "alice"}};
  const auto discarded = command(fixture.config, {"dead", "discard", "--all", "--yes"}, alice);
  INFO(discarded.out << discarded.err);
  CHECK(discarded.status == ExitStatus{0, 0});
  CHECK(fixture.database.text("select actor from inbox.audit where operation = 'dead discard'") == "alice@" + host());
}

TEST_CASE("an instance can be paused and resumed over its admin port; the pause outlives a reload") {
  AdminFixture admin;
  const TempFolder folder;
  admin.config.sections["admin"] += ", socket: " + (folder / "admin.sock").string();
  auto daemon = admin.start();
  const auto asked = command(admin.config, {"instance", "pause"});
  CHECK(asked.status == ExitStatus{64, 0});  // not a terminal
  const std::map<std::string, std::string> alice{{"SUDO_USER", "alice"}};
  CHECK(command(admin.config, {"instance", "pause", "--yes"}, alice).status == ExitStatus{0, 0});
  CHECK(command(admin.config, {"instance", "pause", "--yes"}).status == ExitStatus{1, 0});
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  admin.fixture.produce(10);
  admin.fixture.wait_stored(10);
  holds_for("nothing is handled", milliseconds{300}, [&] { return admin.fixture.recording.count() == 0; });
  CHECK(gauge(admin.port, "inboxd_paused") == 1);
  wait_until("metrics tell of what waits", [&] {
    return gauge(admin.port, "inboxd_backlog_events{handler=\"recorder\",state=\"due\"}") == 10 &&
           gauge(admin.port, "inboxd_backlog_oldest_due_age_seconds{handler=\"recorder\"}") > 0;
  });
  const auto shown = command(admin.config, {"instance", "show"});
  CHECK_THAT(shown.out, ContainsSubstring("all handlers paused") && ContainsSubstring(admin.topic));
  CHECK(command(admin.config, {"instance", "resume", "--yes"}).status == ExitStatus{0, 0});
  CHECK(admin.fixture.wait_done().is_perfect());
  CHECK(gauge(admin.port, "inboxd_paused") == 0);
  admin.database.wait_for("the audit knows of all three",
                          "select count(*) from inbox.audit where operation like 'instance %'", 3);
  const auto actor_of = [&](const std::string& operation) {
    return admin.database.text("select actor from inbox.audit where operation = 'instance " + operation + "'");
  };
  CHECK(actor_of("pause").starts_with("alice@" + host() + ", admin port, "));
  CHECK(actor_of("reload") == "uid " + std::to_string(getuid()) + ", SIGHUP");
  CHECK_THAT(actor_of("resume"), ContainsSubstring("admin port, "));

  // The socket identifies the user; without a token it only reads.
  RawConnection local{folder / "admin.sock"};
  local.send("GET /v1/instance/show HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(local.receive().status == 200);
  local.send("POST /v1/instance/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  CHECK(local.receive().status == 401);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK_FALSE(std::filesystem::exists(folder / "admin.sock"));
}

TEST_CASE("a port in use is reported, with exit status 75") {
  AdminFixture admin;
  auto daemon = admin.start();
  DaemonProcess other{admin.config};
  CHECK(other.process().wait() == ExitStatus{75, 0});
  CHECK_THAT(other.log(), ContainsSubstring("admin.listen"));
}

TEST_CASE("the daemon serves its OpenAPI document, and every path in it answers as described") {
  AdminFixture admin{1, ", receive_timeout: 1s"};
  auto daemon = admin.start();
  const auto served = get(admin.port, "/openapi.json");
  REQUIRE(served.status == 200);
  CHECK((served.body == read_file("config/openapi.json")));
  const auto document = json::parse(served.body);
  const auto& refusal = document.at("components").at("schemas").at("Refusal").at("required");
  const auto check_refusal = [&](const HttpAnswer& answer) {
    const auto body = json::parse(answer.body);
    for (const std::string name : refusal) CHECK(body.contains(name));
    CHECK(body.at("status") == answer.status);
  };
  for (const auto& [path, methods] : document.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      CAPTURE(path, method);
      auto answer = method == "get" ? get(admin.port, path) : post(admin.port, path, "{\"dry-run\": true}", change);
      CHECK(operation.at("responses").contains(std::to_string(answer.status)));
      CHECK(answer.status != 404);
      if (answer.headers["content-type"] == "application/json") CHECK(json::parse(answer.body).is_object());
      const auto other = method == "get" ? post(admin.port, path, "{}", change) : get(admin.port, path, with_token);
      CHECK(other.status == 405);
      CHECK(operation.at("responses").contains("default"));
      check_refusal(other);
    }
  }
  CHECK(document.at("paths").contains("/openapi.json"));
  const auto raw = [&](const std::string& bytes) {
    RawConnection connection{admin.port};
    connection.send(bytes);
    return connection.receive();
  };
  check_refusal(raw("GET /metrics HTTP/1.1\r\nHost: localhost\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n"));
  check_refusal(raw("GET /metrics HTTP/2.0\r\nHost: localhost\r\n\r\n"));
  check_refusal(raw("GET /metrics HTTP/1.1\r\nHost: loc"));
}
