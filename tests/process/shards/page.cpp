// The page of several databases as one: inboxd --shards FILE ui.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <set>

#include "process/shards/listed_shards.hpp"
#include "support/browser.hpp"
#include "support/http.hpp"
#include "support/process.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Strings = std::vector<std::string>;

namespace {

/// A running `inboxd --shards FILE ui --no-open`.
class ServedPage final {
 public:
  explicit ServedPage(const ListedShards& shards)
      : process_{{.arguments = {daemon_program(), "--shards", shards.folder() / "shards.yaml", "ui", "--no-open"},
                  .out = output_}} {
    wait_until("ui prints its link", [&] { return read_file(output_).find('\n') != std::string::npos; });
  }

  std::string link() const {
    const std::string text = read_file(output_);
    return text.substr(0, text.find('\n'));
  }
  int port() const { return std::stoi(link().substr(std::string{"http://127.0.0.1:"}.size())); }
  Strings with_key() const {
    const std::string text = link();
    const auto begin = text.find("#token=") + 7;
    return {"Authorization: Bearer " + text.substr(begin, text.find('&') - begin)};
  }
  HttpAnswer read(const std::string& target) const { return get(port(), target, with_key()); }
  nlohmann::json json(const std::string& target) const {
    const auto answer = read(target);
    INFO(target << ": " << answer.body);
    REQUIRE(answer.status == 200);
    return nlohmann::json::parse(answer.body);
  }
  ExitStatus stop() {
    process_.signal(SIGINT);
    return process_.wait();
  }

 private:
  const TempFolder folder_;
  const std::string output_ = folder_ / "ui.out";
  Process process_;
};

void show(Browser& browser, const std::string& screen) {
  browser.run("location.hash = arguments[0]", {"#/" + screen});
  browser.wait_for("document.querySelector('main')?.dataset.address === '#/" + screen +
                   "' && !document.querySelector('main').hasAttribute('aria-busy')");
}

}  // namespace

TEST_CASE("ui with --shards serves the reads of all databases as one system, until Ctrl-C") {
  ListedShards shards;
  ServedPage page{shards};
  CHECK(page.link().starts_with("http://127.0.0.1:"));
  CHECK_THAT(get(page.port(), "/").body, ContainsSubstring("ui/app.js"));
  const auto status = page.json("/v1/status");
  CHECK(status.at("is_well") == true);
  CHECK(status.at("topics").size() == 4);
  CHECK(status.at("databases").size() == 2);
  std::set<int> seen;
  for (const auto& row : status.at("instances")) seen.insert(row.at("shard").get<int>());
  CHECK(seen == std::set{0, 1});
  CHECK(page.json("/v1/events/list").at("events").size() == 4);
  CHECK(page.json("/v1/events/list?shard=1").at("events").size() == 2);
  CHECK(page.json("/v1/events/show?id=00000000-0000-4000-8000-000000000003").at("shard") == 1);
  CHECK(page.read("/v1/events/show?id=00000000-0000-4000-8000-000000000009").status == 404);
  CHECK(page.stop() == ExitStatus{0, 0});
}

TEST_CASE("the page of several databases is only for the holder of its key, and for no other site's page") {
  ListedShards shards;
  ServedPage page{shards};
  CHECK(get(page.port(), "/v1/status").status == 401);
  CHECK(get(page.port(), "/v1/status", {"Authorization: Bearer " + std::string(64, '0')}).status == 401);
  const std::string key = page.with_key()[0];
  CHECK(get(page.port(), "/v1/status", {key, "Host: rebound.example"}).status == 403);
  CHECK(get(page.port(), "/v1/status", {key, "Origin: http://other.example"}).status == 403);
  CHECK(ServedPage{shards}.link() != page.link());
}

TEST_CASE("the page of several databases refuses changes and names the configurations for them") {
  ListedShards shards;
  ServedPage page{shards};
  const auto refused = post(page.port(), "/v1/handlers/pause", R"({"handler": "recorder", "reason": "test"})",
                            {page.with_key()[0], "Content-Type: application/json"});
  CHECK(refused.status == 409);
  CHECK_THAT(refused.body, ContainsSubstring("handlers pause does not read several databases") &&
                               ContainsSubstring(ListedShards::file(0)) && ContainsSubstring(ListedShards::file(1)));
  CHECK(page.read("/v1/status").headers.at("inboxd-may-change") == "no");
  const auto history = page.read("/v1/history");
  CHECK(history.status == 404);
  CHECK_THAT(history.body, ContainsSubstring("inboxd --config FILE ui"));
  CHECK_THAT(page.read("/v1/no/such").body, ContainsSubstring("no such path"));
}

TEST_CASE("the page of several databases names a database that is away, and shows the others") {
  ListedShards shards;
  shards.lose_database(1);
  ServedPage page{shards};
  const auto status = page.json("/v1/status");
  CHECK(status.at("is_well") == false);
  CHECK(status.at("topics").size() == 2);
  CHECK_THAT(status.at("findings").at(0).at("message").get<std::string>(),
             ContainsSubstring("shard 1 (") && ContainsSubstring(ListedShards::file(1)));
  const auto list = page.json("/v1/partitions/list");
  CHECK(list.at("partitions").size() == 2);
  CHECK_THAT(list.at("away").at(0).get<std::string>(), ContainsSubstring("shard 1 ("));
  shards.lose_database(0);
  const auto none = ServedPage{shards}.read("/v1/status");
  CHECK(none.status == 503);
  CHECK_THAT(none.body, ContainsSubstring("shard 0 (") && ContainsSubstring("shard 1 ("));
}

TEST_CASE("in a browser the page of several databases has the shard of each row, no changes and no errors") {
  ListedShards shards;
  const Strings pause{"handlers", "pause", "recorder", "--reason", "test", "--yes"};
  CHECK(command(shards.fixture().shards[1]->config, pause).status == ExitStatus{0, 0});
  ServedPage page{shards};
  Browser browser;
  browser.open(page.link());
  browser.wait_for("document.querySelector('.verdict')");
  CHECK_THAT(browser.text("main"), ContainsSubstring("2 databases as one system") &&
                                       ContainsSubstring("inboxd --config FILE ui"));
  CHECK(browser.barriers() == Strings{});
  browser.screenshots("shards-overview");
  for (const std::string screen : {"events", "handlers", "partitions"}) {
    show(browser, screen);
    INFO(screen);
    CHECK_THAT(browser.run("return document.querySelector('main thead').textContent").get<std::string>(),
               ContainsSubstring("Shard"));
  }
  for (const std::string screen :
       {"failures", "keys", "quarantine", "outbox", "audit", "configuration", "handlers?handler=recorder&shard=1",
        "event?id=00000000-0000-4000-8000-000000000003"}) {
    show(browser, screen);
    INFO(screen);
    CHECK_FALSE(browser.has(".error"));
    CHECK(browser.run("return [...document.querySelectorAll('.changes')].filter((each) => each.offsetParent).length") ==
          0);
  }
  CHECK_THAT(browser.text("main"), ContainsSubstring("Shard"));
  auto errors = browser.errors();
  std::erase_if(errors, [](const std::string& line) {  // of a daemon only; the screens say so
    return line.find("/v1/history") != std::string::npos || line.find("/v1/config/show") != std::string::npos;
  });
  CHECK(errors == Strings{});

  shards.lose_database(1);
  ServedPage rest{shards};
  browser.open(rest.link());
  browser.wait_for("document.querySelector('.verdict.bad')");
  CHECK_THAT(browser.text(".cards"), ContainsSubstring("shard 1 ("));
  show(browser, "partitions");
  CHECK_THAT(browser.text("main .warning"), ContainsSubstring("Not shown: shard 1 ("));
  CHECK(browser.count("main tbody tr") == 2);
}
