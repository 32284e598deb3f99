// The overview: findings with their remedies, hostile texts, two operators at once.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "process/page/page_fixture.hpp"
#include "support/http.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Strings = std::vector<std::string>;

namespace {

constexpr int letters = 60;  // so many within ten minutes are a problem

/// A handler with dead letters, each of which fails again.
void add_dead_letters(PageFixture& page) {
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  page.start();
  page.admin.fixture.produce(letters, "Bad");
  page.admin.database.wait_for("all are dead", "select count(*) from inbox.dead_letter", letters);
}

std::string audited(PageFixture& page, const std::string& operation) {
  return page.admin.database.text(
      "select coalesce(string_agg(actor, ';' order by audit_id), '') from inbox.audit where operation = '" + operation +
      "'");
}

}  // namespace

TEST_CASE("an empty inbox shows the next step, and the first record takes its place") {
  PageFixture page;
  page.start();
  page.open();
  page.browser.wait_text("Nothing has arrived yet");
  CHECK_THAT(page.browser.text(".steps"), ContainsSubstring("--topic " + page.admin.topic));
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-empty");
  page.admin.fixture.produce(1);
  page.browser.wait_for("!document.querySelector('.steps')");
}

TEST_CASE("a finding's remedy shows its dry run, then changes what it showed, in the name of the viewer") {
  PageFixture page;
  add_dead_letters(page);
  page.open();
  page.browser.wait_for("document.querySelector('.finding.bad')");
  CHECK(page.browser.has(".verdict.bad"));
  CHECK_THAT(page.browser.text("main"), ContainsSubstring("60 dead letters") && ContainsSubstring("test.failure") &&
                                                ContainsSubstring("told to fail"));
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-problem");
  page.browser.click_text("Replay the dead letters…");
  page.browser.wait_text("matched");
  CHECK_THAT(page.browser.text("dialog"), ContainsSubstring("60"));
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-confirm");
  CHECK(audited(page, "dead replay").empty());
  page.browser.click_text("Replay the dead letters", "dialog");
  page.browser.wait_text("replayed");
  page.browser.click_text("Close", "dialog");
  page.browser.wait_for("!document.querySelector('dialog')");
  CHECK(audited(page, "dead replay") == "alice@desk, admin port, 127.0.0.1");
  page.admin.database.wait_for("each has failed twice", "select count(*) from inbox.failure", 2 * letters);
}

TEST_CASE("of two operators who replay the same dead letters the second changes nothing") {
  PageFixture page;
  add_dead_letters(page);
  Browser second;
  page.open();
  second.open(page.address() + "#token=" + token + "&actor=bob@desk");
  for (Browser* each : {&page.browser, &second}) {
    each->click_text("Replay the dead letters…");
    each->wait_text("matched");
  }
  page.browser.click_text("Replay the dead letters", "dialog");
  page.browser.wait_text("replayed");
  page.admin.database.wait_for("each has failed twice", "select count(*) from inbox.failure", 2 * letters);
  second.click_text("Replay the dead letters", "dialog");
  second.wait_text("no dead letter matches");
  CHECK(page.admin.database.number("select count(*) from inbox.failure") == 2 * letters);
  CHECK(audited(page, "dead replay") == "alice@desk, admin port, 127.0.0.1");
}

TEST_CASE("types and errors full of HTML are shown as text, and run nothing") {
  const std::string hostile = R"(<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>)";
  PageFixture page;
  page.admin.config.handlers[0].types = {"Known"};
  page.start();
  page.admin.fixture.produce(3, hostile);
  page.open();
  page.browser.wait_text(hostile);
  CHECK(page.browser.run("return window.hacked ?? null").is_null());
  CHECK(page.browser.count("main img, main script") == 0);
  CHECK(page.errors() == Strings{});
  CHECK(page.browser.run("return document.documentElement.scrollWidth <= innerWidth").get<bool>());
}

TEST_CASE("a refresh keeps focus, open details and scroll, and moves nothing") {
  PageFixture page;
  page.start();
  page.admin.fixture.produce(20);
  page.admin.fixture.wait_done();
  page.open();
  const char* const watch = R"(
window.moved = 0;
window.moving = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    window.moved += entry.value;
    for (const {node} of entry.sources) window.moving.push((node?.outerHTML ?? node?.data ?? '').slice(0, 200));
  }
})
  .observe({type: 'layout-shift'});
window.kept = document.querySelector('main table');
document.querySelector('.choice a').focus();
window.refreshed = 0;
const answered = window.fetch;
window.fetch = (...given) => {
  if (String(given[0]).includes('v1/status')) ++window.refreshed;
  return answered(...given);
};)";
  page.browser.run(watch);
  page.browser.wait_for("window.refreshed >= 3");
  CHECK(page.browser.run("return document.activeElement === document.querySelector('.choice a')").get<bool>());
  CHECK(page.browser.run("return window.kept.isConnected").get<bool>());
  INFO(page.browser.run("return window.moving").dump());
  CHECK(page.browser.run("return window.moved").get<double>() < 0.0005);  // a figure that gets longer
}

TEST_CASE("a day of history, of a clock that passes an hour at a time, is drawn with its gaps and marks") {
  PageFixture page;
  const TempFolder folder;
  const auto file = folder / "clock", next = folder / "next";
  const auto set_clock = [&](int hours) {
    std::ofstream{next} << hours * 3'600;
    std::filesystem::rename(next, file);
  };
  set_clock(-23);
  page.daemon = std::make_unique<DaemonProcess>(
      page.admin.config, Strings{"run", "--migrate"},
      std::map<std::string, std::string>{{"LD_PRELOAD", plugin_file("clock_off")}, {"INBOXD_TEST_CLOCK_FILE", file}});
  page.daemon->wait_ready();
  const auto known = [&] {
    const auto history = nlohmann::json::parse(get(page.admin.port, "/v1/history?span=24h").body);
    if (!history.at("topics").contains(page.admin.topic)) return std::ptrdiff_t{0};
    const auto& values = history.at("topics").at(page.admin.topic).at("lag");
    CHECK(values.size() == 288);
    return std::count_if(values.begin(), values.end(), [](const auto& value) { return !value.is_null(); });
  };
  for (int hour = -22; hour <= 0; ++hour) {
    page.admin.fixture.produce(5);
    const auto before = known();
    set_clock(hour);
    wait_until("the hour has a step", [&] { return known() > before; });
  }
  CHECK(page.admin.fixture.wait_done().is_perfect());
  page.open("?span=24h");
  CHECK(known() >= 20);
  page.browser.wait_for("document.querySelectorAll('.chart polyline').length >= 20");  // a run between two gaps each
  CHECK_THAT(page.browser.text(".choice [aria-current=true]"), ContainsSubstring("last day"));
  CHECK_THAT(page.browser.text(".marks"), ContainsSubstring("start"));
  CHECK(page.browser.barriers() == Strings{});
  page.browser.screenshots("overview-day");
  page.browser.click_text("last hour");
  page.browser.wait_for("document.querySelectorAll('.chart polyline').length < 20");
}
