// A handler that nobody configures any more, on its way out and back.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/stage.hpp"
#include "support/http.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a handler that left the configuration is retired: owed nothing, and back in it owed by its `start` again") {
  Stage stage{1};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "', token: correct-horse";
  const auto both = [&] {
    auto out = stage.config.handlers;
    out.push_back(out.front());
    out.back().name = "leaving";
    return out;
  }();
  const auto alone = stage.config.handlers;
  stage.config.handlers = both;
  auto daemon = stage.start();
  stage.produce(20);
  stage.wait_done();
  stage.wait_done("leaving");
  const auto retire = [&] { return command(stage.config, {"handlers", "retire", "leaving", "--yes", "--json"}); };
  const auto refused = retire();
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.err, ContainsSubstring("leaving is run by"));
  CHECK(nlohmann::json::parse(refused.out).at("refused") == true);
  for (const auto& arguments :
       {std::vector<std::string>{"handlers", "retire", "leaving"}, {"handlers", "retire", "leaving", "--yes"}}) {
    const auto for_people = command(stage.config, arguments);
    CHECK(for_people.status == ExitStatus{1, 0});
    CHECK(for_people.out.empty());
    CHECK_THAT(for_people.err, ContainsSubstring("leaving is run by") && !ContainsSubstring("dropped"));
  }

  stage.config.handlers = alone;
  daemon->write_config(stage.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("reloaded");
  stage.produce(10);
  stage.wait_done();
  CHECK(stage.database.number("select due from inbox.backlog where handler = 'leaving'") == 10);
  stage.database.wait_for("the daemon has said that it runs one",
                          "select count(*) from inbox.instance where cardinality(handlers) = 1", 1);
  const auto asked = post(port, "/v1/handlers/retire", R"({"handler": "leaving"})",
                          {"Authorization: Bearer correct-horse", "Content-Type: application/json"});
  INFO(asked.body);
  CHECK(asked.status == 200);
  CHECK(nlohmann::json::parse(asked.body).at("dropped") == 10);
  const auto again = retire();
  CHECK(again.status == ExitStatus{0, 0});
  CHECK(nlohmann::json::parse(again.out).at("was_retired") == true);
  stage.produce(5);
  stage.wait_done();
  CHECK(stage.database.number("select count(*) from inbox.delivery") == 0);

  stage.config.handlers = both;  // `start: beginning`
  daemon->write_config(stage.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("reloaded", 2);
  stage.produce(5);
  stage.database.wait_for(
      "it has done everything, and what it did in its first life twice",
      "select sum(inbox.count_of(offsets))::int from inbox.outcome join inbox.handler using (handler_id) "
      "where name = 'leaving' and outcome = 'done'",
      60);
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("a handler that a reload has added back is not retired but by force, and its daemon says so then") {
  Stage stage{1};
  const auto alone = stage.config.handlers;
  auto both = alone;
  both.push_back(both.front());
  both.back().name = "leaving";
  stage.config.handlers = both;
  auto daemon = stage.start();
  int reloads = 0;
  const auto reload_with = [&](const std::vector<HandlerText>& handlers) {
    stage.config.handlers = handlers;
    daemon->write_config(stage.config.text());
    daemon->process().signal(SIGHUP);
    daemon->wait_log("daemon: reloaded", ++reloads);
  };
  reload_with(alone);
  stage.database.wait_for("the daemon has said that it runs one",
                          "select count(*) from inbox.instance where cardinality(handlers) = 1", 1);
  reload_with(both);
  const auto refused = command(stage.config, {"handlers", "retire", "leaving", "--yes"});
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.err, ContainsSubstring("leaving is run by"));

  CHECK(command(stage.config, {"handlers", "retire", "leaving", "--yes", "--force"}).status == ExitStatus{0, 0});
  daemon->wait_log("a handler that this process runs is retired");
  const auto verdict = [&] {
    const auto status = command(stage.config, {"status", "--json"});
    return nlohmann::json::parse(status.out).at("verdict").get<std::string>();
  };
  wait_until("status says so",
             [&] { return verdict().ends_with("handler leaving runs here, but is retired and owed nothing"); });
  CHECK(stage.database.number("select count(*) from inbox.handler where retired_at is not null") == 1);

  reload_with(both);
  stage.produce(5);
  CHECK(stage.wait_done("leaving").is_perfect());
  wait_until("all is well again", [&] { return verdict() == "all is well"; });
  CHECK(daemon->count_in_log("a handler that this process runs is retired") == 1);
}
