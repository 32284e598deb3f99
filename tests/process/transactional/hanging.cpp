// A database that hangs: it neither answers nor says that it is gone.
#include <catch2/catch_test_macros.hpp>

#include "process/support/application.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler in C++ whose first event of the type `Bad` waits for a lock that the test holds.
HandlerText waits_for_lock(const Application& app) {
  HandlerText handler;
  handler.name = "writer";
  handler.plugin = plugin_file("writer");
  handler.more = {"concurrency: 1", "deadline: 2s", "retry: {max_attempts: 1}"};
  handler.settings = {{"table", app.schema() + ".booked"},
                      {"bad", yaml_text(app.named("lock table app.gate in share mode"))}};
  return handler;
}

}  // namespace

TEST_CASE("a database that hangs under a handler's statement, and while it connects again, costs no attempt") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run("create table app.gate (n int)");
  Proxy proxy{port_of(stage.config.url)};
  const std::string direct = stage.config.url;
  stage.config.url = url_with_port(direct, proxy.port());
  stage.config.sections["database"] = "deadline: 4s";
  stage.config.handlers = {waits_for_lock(app)};
  Session gate{stage.database.url(), stage.database.schema()};
  gate.run("begin");
  gate.run("lock table " + app.schema() + ".gate in access exclusive mode");
  const auto daemon = stage.start();
  stage.produce(1, "Bad");
  stage.produce(5);
  app.wait_for("the handler waits",
               "select count(*) from pg_locks where relation = 'app.gate'::regclass and not granted", 1);
  proxy.freeze(true);
  daemon->wait_log("a handler's transaction runs again, uncharged", 2);  // in its statement, then connecting
  gate.run("commit");
  proxy.freeze(false);
  const Tally tally = stage.wait_done("writer");
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(app.booked() == 6);
  CHECK(stage.database.number("select count(*) from inbox.failures") == 0);
  CHECK(stage.database.number("select count(*) from inbox.dead_letters") == 0);
  CHECK(daemon->count_in_log("did not return within its deadline") == 0);
}
