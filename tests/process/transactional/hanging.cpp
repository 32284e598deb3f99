#include <catch2/catch_test_macros.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A C++ handler whose first event of type `Bad` waits for a lock that the test holds.
HandlerText waits_for_lock(const Application& app) {
  HandlerText handler;
  handler.name = "writer";
  handler.plugin = plugin_file("writer");
  handler.more = {"concurrency: 1", "deadline: 2s", "lease: 60s", "retry: {max_attempts: 1}"};
  handler.settings = {{"table", app.schema() + ".applied"},
                      {"bad", yaml_text(app.named("lock table app.gate in share mode"))}};
  return handler;
}

}  // namespace

TEST_CASE("a database that hangs during a handler's statement, and again while connecting, costs no attempt") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run("create table app.gate (n int)");
  Proxy proxy{port_of(fixture.config.url)};
  const std::string direct = fixture.config.url;
  fixture.config.url = url_with_port(direct, proxy.port());
  fixture.config.sections["database"] = "deadline: 4s";
  fixture.config.handlers = {waits_for_lock(app)};
  Session gate{fixture.database.url(), fixture.database.schema()};
  gate.run("begin");
  gate.run("lock table " + app.schema() + ".gate in access exclusive mode");
  const auto daemon = fixture.start();
  fixture.produce(1, "Bad");
  fixture.produce(5);
  app.wait_for("the handler waits",
               "select count(*) from pg_locks where relation = 'app.gate'::regclass and not granted", 1);
  proxy.freeze(true);
  daemon->wait_log("kind=dispatcher.transaction_retried");
  daemon->wait_log("about=\"handler writer, its transactions\" fault=reconnect");  // the next attempt has no session
  gate.run("commit");
  proxy.freeze(false);
  const EventCounts counts = fixture.wait_done("writer");
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(app.applied() == 6);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.dead_letters") == 0);
  CHECK(daemon->count_in_log("kind=dispatcher.call_abandoned") == 0);
}
