#include "admin/http_client.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/collector.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the token goes with what needs it, never with a probe") {
  const support::Collector port;  // whoever took the daemon's place
  config::Admin settings;
  settings.listen = "127.0.0.1:" + std::to_string(port.port());
  settings.token = config::Secret{"correct-horse-battery"};
  for (const char* const target : {"/livez", "/v1/status"}) {
    REQUIRE(admin::ask(settings, {"GET", target, "", ""}, std::chrono::seconds{5}));
  }
  const auto requests = port.requests();
  REQUIRE(requests.size() == 2);
  CHECK_THAT(requests[0].head, !ContainsSubstring("Authorization"));
  CHECK_THAT(requests[1].head, ContainsSubstring("Authorization: Bearer correct-horse-battery"));
}
