#include "admin/http_client.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "admin/http_server.hpp"
#include "support/collector.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::chrono::seconds patience{5};

admin::HttpResponse said(const std::string& authorization) { return {200, authorization, "text/plain"}; }

}  // namespace

TEST_CASE("the token goes with operations, never with a probe") {
  const support::Collector port;  // another program in the daemon's place
  config::Admin settings;
  settings.listen = "127.0.0.1:" + std::to_string(port.port());
  settings.token = config::Secret{"correct-horse-battery"};
  for (const char* const target : {"/livez", "/v1/status"}) {
    REQUIRE(admin::ask(settings, {"GET", target, "", ""}, patience));
  }
  const auto requests = port.requests();
  REQUIRE(requests.size() == 2);
  CHECK_THAT(requests[0].head, !ContainsSubstring("Authorization"));
  CHECK_THAT(requests[1].head, ContainsSubstring("Authorization: Bearer correct-horse-battery"));
}

TEST_CASE("a read carries the read token if there are both") {
  const support::Collector port;
  config::Admin settings;
  settings.listen = "127.0.0.1:" + std::to_string(port.port());
  settings.token = config::Secret{"correct-horse-battery"};
  settings.read_token = config::Secret{"look-only"};
  REQUIRE(admin::ask(settings, {"GET", "/v1/status", "", ""}, patience));
  REQUIRE(admin::ask(settings, {"POST", "/v1/instance/resume", "{}", ""}, patience));
  CHECK_THAT(port.requests().at(0).head, ContainsSubstring("Authorization: Bearer look-only"));
  CHECK_THAT(port.requests().at(1).head, ContainsSubstring("Authorization: Bearer correct-horse-battery"));
}

TEST_CASE("every request carries the read token if there is no other") {
  const support::Collector port;
  config::Admin settings;
  settings.listen = "127.0.0.1:" + std::to_string(port.port());
  settings.read_token = config::Secret{"look-only"};
  REQUIRE(admin::ask(settings, {"GET", "/v1/status", "", ""}, patience));
  CHECK_THAT(port.requests().at(0).head, ContainsSubstring("Authorization: Bearer look-only"));
}

TEST_CASE("the token goes to no other machine; a request without a token may") {
  config::Admin settings;
  settings.listen = "192.0.2.1:9470";  // reserved for documentation: no machine has it
  settings.token = config::Secret{"correct-horse-battery"};
  const auto began = std::chrono::steady_clock::now();
  const auto refused = admin::ask(settings, {"GET", "/v1/status", "", ""}, patience);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.problem().message,
             ContainsSubstring("admin.listen: 192.0.2.1:9470 is not an address of this machine") &&
                 ContainsSubstring("run the command where the daemon runs"));
  CHECK(std::chrono::steady_clock::now() - began < patience);  // no connection was tried
  const auto probed = admin::ask(settings, {"GET", "/livez", "", ""}, std::chrono::milliseconds{100});
  REQUIRE_FALSE(probed);
  CHECK_THAT(probed.problem().message, ContainsSubstring("no daemon answers at 192.0.2.1:9470"));
}

TEST_CASE("the Unix socket is preferred, and the port gets no request") {
  const support::Collector port;
  const support::TempFolder folder;
  config::Admin settings;
  settings.listen = "127.0.0.1:" + std::to_string(port.port());
  settings.socket = (folder / "admin.sock").string();
  settings.token = config::Secret{"correct-horse-battery"};
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const auto respond = [](const admin::HttpRequest& request) -> admin::HttpServer::Outcome {
    const std::string* const authorization = request.header("authorization");
    return said(authorization == nullptr ? "" : *authorization);
  };
  admin::HttpServer server{{}, {}, respond, log};
  server.start(std::get<std::vector<admin::Listener>>(admin::listen_at(settings.socket)));
  const auto answer = admin::ask(settings, {"GET", "/v1/status", "", ""}, patience);
  REQUIRE(answer);
  CHECK(answer.value().body == "Bearer correct-horse-battery");
  CHECK(port.requests().empty());
}
