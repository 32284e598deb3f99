// The way into the page: the link of `inboxd ui`, a token, no token.
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "process/page/page_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Strings = std::vector<std::string>;

namespace {

/// The link of `inboxd ui`, without the end of the line.
std::string link_of(const PageFixture& page, const TempFolder& runtime) {
  const auto printed = command(page.admin.config, {"ui", "--no-open"}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  INFO(printed.err);
  REQUIRE(printed.status == ExitStatus{0, 0});
  return printed.out.substr(0, printed.out.find('\n'));
}

std::filesystem::path key_file(const PageFixture& page, const TempFolder& runtime) {
  return runtime / ("page-" + std::to_string(page.admin.port) + ".key");
}

void start(PageFixture& page, const TempFolder& runtime) {
  const std::map<std::string, std::string> environment{{"RUNTIME_DIRECTORY", runtime.path()}};
  page.daemon = std::make_unique<DaemonProcess>(page.admin.config, Strings{"run", "--migrate"}, environment);
  page.daemon->wait_ready();
}

std::string key_in(const std::string& link) {
  const auto begin = link.find("#token=") + 7;
  return link.substr(begin, link.find('&') - begin);
}

int pause(const PageFixture& page, const std::string& key) {
  return post(page.admin.port, "/v1/handlers/pause", R"({"handler": "recorder", "reason": "test"})",
              {"Authorization: Bearer " + key, as_json[0]}).status;
}

}  // namespace

TEST_CASE("the page opens with a token, which leaves the address bar, and shows the daemon's verdict") {
  PageFixture page;
  page.start();
  page.open();
  page.browser.wait_for("document.querySelector('.verdict')");
  CHECK(page.browser.run("return location.href") == page.address() + "#/");
  CHECK(page.browser.run("return history.length <= 2").get<bool>());
  CHECK_THAT(page.browser.text("#who"), ContainsSubstring("alice@desk"));
  CHECK(page.errors() == Strings{});
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-idle");
}

TEST_CASE("inboxd ui prints a link whose key only the daemon's user can read, and which ends with the daemon") {
  const TempFolder runtime;
  PageFixture page;
  start(page, runtime);
  struct stat found {};
  REQUIRE(::stat(key_file(page, runtime).c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0600);
  const std::string link = link_of(page, runtime);
  CHECK_THAT(link, ContainsSubstring(page.address() + "#token=") && ContainsSubstring("&actor="));
  CHECK(pause(page, key_in(link)) == 200);
  CHECK(pause(page, key_in(link) + "0") == 401);

  page.browser.open(link);
  page.shown("#/");
  CHECK_THAT(page.browser.text("#who"), ContainsSubstring("Sign out"));
  CHECK(page.daemon->stop() == ExitStatus{0, 0});
  CHECK_FALSE(std::filesystem::exists(key_file(page, runtime)));
  const auto without = command(page.admin.config, {"ui", "--no-open"}, {{"RUNTIME_DIRECTORY", runtime.path()}});
  CHECK(without.status == ExitStatus{1, 0});
  CHECK_THAT(without.err, ContainsSubstring("found no key of a running daemon"));
}

TEST_CASE("admin.ui says what the link may do: everything, reads, or there is no page") {
  const auto [setting, expected, content] = GENERATE(table<std::string, int, int>(
      {{"full", 200, 200}, {"read-only", 403, 200}, {"auto", 200, 200}, {"off", 401, 404}}));
  const TempFolder runtime;
  PageFixture page{1, ", ui: " + setting};
  start(page, runtime);
  INFO(setting);
  CHECK(get(page.admin.port, "/").status == content);
  CHECK(get(page.admin.port, "/ui/app.js").status == content);
  CHECK(std::filesystem::exists(key_file(page, runtime)) == (setting != "off"));
  if (setting == "off") return;
  const std::string key = key_in(link_of(page, runtime));
  CHECK(pause(page, key) == expected);
  CHECK(get(page.admin.port, "/v1/events/list", {"Authorization: Bearer " + key}).status == 200);
}

TEST_CASE("without a token the page shows what this machine may read, and says how to get in") {
  PageFixture page{1, ", read: token"};
  page.start();
  page.browser.open(page.address());
  page.shown("");
  page.browser.wait_text("inboxd ui");
  CHECK(page.browser.has(".way-in"));
  CHECK_THAT(page.browser.text("main"), ContainsSubstring("This screen needs a token."));
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("way-in");
  page.browser.type(".way-in [name=token]", token);
  page.browser.type(".way-in [name=actor]", "bob@desk");
  page.browser.click(".way-in .primary");
  page.browser.wait_for("document.querySelector('.verdict')");
  CHECK_FALSE(page.browser.has(".way-in"));
}

TEST_CASE("the page's files have a tag, a strict policy, and are the page's only sources") {
  PageFixture page;
  page.start();
  const auto index = get(page.admin.port, "/");
  CHECK(index.headers.at("content-security-policy") ==
        "default-src 'none'; frame-ancestors 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
        "'self' data:; base-uri 'none'; form-action 'none'");
  CHECK(index.headers.at("x-content-type-options") == "nosniff");
  CHECK(index.headers.at("referrer-policy") == "no-referrer");
  CHECK(index.headers.at("cache-control") == "no-cache");
  const auto again = ask(page.admin.port, {.target = "/", .headers = {"If-None-Match: " + index.headers.at("etag")}});
  CHECK(again.status == 304);
  CHECK_FALSE(again.headers.contains("content-length"));
  CHECK(get(page.admin.port, "/v1/version").headers.at("cache-control") == "no-store");
  CHECK(get(page.admin.port, "/ui/../gate.cpp").status == 404);

  page.open();
  const auto sources = page.browser.run(
      "return performance.getEntriesByType('resource').map(({name}) => name)"
      ".filter((name) => !name.startsWith(location.origin))");
  CHECK(sources.get<Strings>() == Strings{});
  const auto size = page.browser.run(
      "return Promise.all([...new Set(performance.getEntriesByType('resource').map(({name}) => name).filter((name) => "
      "name.includes('/ui/')))].map((name) => fetch(name).then((answer) => answer.text()).then(({length}) => length)))"
      ".then((sizes) => sizes.reduce((all, each) => all + each, 0))");
  CHECK(size.get<int>() < 200'000);
}

TEST_CASE("while the daemon is away the page says so, and shows the figures again once it is back") {
  PageFixture page;
  page.start();
  page.open();
  page.daemon->kill();
  page.browser.wait_text("The daemon does not answer");
  CHECK(page.browser.has(".away"));
  CHECK(page.browser.has(".verdict"));
  page.start();
  page.browser.wait_for("!document.querySelector('.away')");
  CHECK_THAT(page.browser.text(), !ContainsSubstring("does not answer"));
}
