// The way into the page: with the link, with a token, without.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/page/page_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Strings = std::vector<std::string>;

TEST_CASE("the page opens with a token, which leaves the address bar, and shows the daemon's verdict") {
  PageFixture page;
  page.start();
  page.open();
  page.browser.wait_for("document.querySelector('.verdict')");
  CHECK(page.browser.run("return location.href") == page.address() + "#/");
  CHECK(page.browser.run("return history.length <= 2").get<bool>());
  CHECK_THAT(page.browser.text("#who"), ContainsSubstring("alice@desk"));
  CHECK(page.browser.errors() == Strings{});
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-idle");
}
