// Figures over time of several instances: GET /v1/history.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "process/support/admin_fixture.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

json history(int port, const std::vector<std::string>& headers = {}) {
  return json::parse(get(port, "/v1/history", headers).body);
}

/// The sum of a handler's or a topic's list, unknown values left out, times the length of a step.
double total(const json& document, const std::string& kind, const std::string& name, const std::string& field) {
  if (!document.at(kind).contains(name)) return 0;
  double out = 0;
  for (const auto& value : document.at(kind).at(name).at(field)) out += value.is_null() ? 0 : value.get<double>();
  return out * document.at("step_s").get<double>();
}

std::size_t marks(const json& document, const std::string& kind, const std::string& text = "") {
  return static_cast<std::size_t>(std::ranges::count_if(document.at("marks"), [&](const json& mark) {
    return mark.at("kind") == kind && mark.at("text").get<std::string>().find(text) != std::string::npos;
  }));
}

bool lists_instance(const json& document, const std::string& merged) {
  return std::ranges::any_of(document.at("instances"), [&](const json& one) { return one.at("merged") == merged; });
}

}  // namespace

TEST_CASE("two instances answer with the figures of both, and a killed one stays in the history") {
  AdminFixture first{2};
  auto one = first.start();
  ConfigText other_config = first.config;
  const int other_port = free_port();
  other_config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(other_port) + "', token: " + token;
  DaemonProcess other{other_config};
  other.wait_ready();
  const auto reads_one = [](int port) {
    return json::parse(get(port, "/v1/instance/show").body).at("partitions").size() == 1;
  };
  wait_until("each reads a partition", [&] { return reads_one(first.port) && reads_one(other_port); });
  // The first step of each has no rate.
  for (const int port : {first.port, other_port}) {
    wait_until("a step has ended", [&] { return !history(port).at("end").is_null(); });
  }
  wait_until("each has a rate", [&] {
    first.fixture.produce(20);
    first.fixture.wait_done();
    return total(history(first.port), "handlers", "recorder", "done_per_s") > 0 &&
           total(history(other_port), "handlers", "recorder", "done_per_s") > 0;
  });
  const double own = total(history(first.port), "topics", first.topic, "in_per_s");
  CHECK(own > 0);

  wait_until("the other has written a minute", [&] { return lists_instance(history(first.port), "heartbeat"); });
  wait_until("the minute with its events is merged", [&] {
    return total(history(first.port), "handlers", "recorder", "done_per_s") >
           1.3 * static_cast<double>(first.fixture.ids().size()) / 2;
  });
  other.kill();
  wait_until("the kill is a crash",
             [&] { return marks(history(first.port), "crash") == 1 && marks(history(first.port), "start") == 2; });
  const json after = history(first.port);
  CHECK(std::ranges::count_if(after.at("crashes"), [](const json& value) { return value == 1; }) == 1);
  CHECK(total(after, "handlers", "recorder", "done_per_s") > 0);
  for (const auto& [name, list] : after.at("handlers").at("recorder").items()) {
    CAPTURE(name);
    if (list.is_array()) CHECK(list.size() == after.at("steps"));
  }
  one->stop();
}

TEST_CASE("the history marks starts, changes of handlers, reloads and operators' changes, without names of persons") {
  AdminFixture admin;
  auto daemon = admin.start();
  CHECK(post(admin.port, "/v1/handlers/pause", R"({"handler": "recorder", "reason": "a test"})", change).status == 200);
  daemon->process().signal(SIGHUP);
  wait_until("the reload is marked", [&] { return marks(history(admin.port), "reload", "instance reload") == 1; });
  const json open = history(admin.port);
  CHECK(marks(open, "start") == 1);
  CHECK(marks(open, "handlers", "handlers add recorder") == 1);
  CHECK(marks(open, "operator", "handlers pause recorder") == 1);
  for (const json& mark : open.at("marks")) CHECK(mark.at("who").is_null());
  const json full = history(admin.port, with_token);
  CHECK(std::ranges::any_of(full.at("marks"), [](const json& mark) {
    return mark.at("kind") == "operator" && mark.at("who").is_string();
  }));
  CHECK_THAT(full.at("marks").front().at("at").get<std::string>(), ContainsSubstring("T"));
  daemon->kill();
}

TEST_CASE("without the database the history has what the instance itself knows") {
  PrivatePostgres postgres;
  AdminFixture admin{1, "", postgres.url()};
  auto daemon = admin.start();
  wait_until("a step has ended", [&] { return history(admin.port).at("handlers").contains("recorder"); });
  postgres.stop();
  const auto answer = get(admin.port, "/v1/history");
  CHECK(answer.status == 200);
  const json document = json::parse(answer.body);
  CHECK(document.at("handlers").contains("recorder"));
  CHECK(document.at("crashes").front().is_null());
  wait_until("the fault is marked",
             [&] { return marks(history(admin.port), "fault", "the database does not answer") == 1; });
  CHECK(history(admin.port).at("handlers").at("recorder").at("dead").back().is_null());
  postgres.start();
  wait_until("the recovery is marked",
             [&] { return marks(history(admin.port), "recovered", "the database does not answer") == 1; });
  daemon->kill();
}
