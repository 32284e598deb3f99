// The screens of quarantine, handlers, partitions, outbox, audit and configuration.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/page/dialogs.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("each screen of an empty database names the next step, without a barrier, on a narrow screen, too") {
  PageFixture page;
  page.start();
  page.open();
  page.browser.errors();
  const std::vector<std::pair<std::string, std::string>> screens{
      {"events", "No event is stored yet."},     {"failures", "No dead letters"},
      {"keys", "No key is blocked"},             {"quarantine", "Nothing is in quarantine"},
      {"outbox", "No message is stopped."},      {"handlers", "recorder"},
      {"partitions", page.admin.topic},          {"audit", "Operation"},
      {"configuration", "Secrets are stars."}};
  for (const auto& [screen, text] : screens) {
    CAPTURE(screen);
    page.go(screen);
    page.browser.wait_text(text);
    page.browser.resize(360, 800);
    CHECK(page.browser.run("return document.documentElement.scrollWidth <= innerWidth").get<bool>());
    CHECK_SCREEN(page, screen + "-empty");
  }
  CHECK_THAT(page.browser.text(), !ContainsSubstring(token));
}

TEST_CASE("quarantined records are shown by topic and reason, tried again with today's rules, and discarded") {
  PageFixture page;
  page.start();
  const auto& topic = page.admin.topic;
  for (const std::string payload : {"<b>one</b>", "two", "three"}) {
    page.admin.fixture.kafka.produce({Message{.topic = topic, .key = "k", .payload = payload, .partition = 0}});
  }
  page.admin.database.wait_for("three in quarantine", "select count(*) from inbox.quarantine", 3);
  open_screen(page, "quarantine");
  CHECK_SCREEN(page, "quarantine");
  page.browser.click_text(topic, ".list");
  page.browser.wait_text("3 records");
  CHECK_SCREEN(page, "quarantine-group");
  page.browser.click_text("Try again…");
  CHECK_THAT(question(page, "Try again"), ContainsSubstring("3 stay: no_id"));
  page.browser.click_text("Cancel", dialog);
  page.browser.click_text(topic + "/0/0");
  page.browser.wait_text("<b>one</b>");
  CHECK_SCREEN(page, "quarantine-record");
  page.browser.click_text("Discard…");
  CHECK_THAT(confirm(page, "Discard for good"), ContainsSubstring("1 discarded"));
  page.browser.wait_text("no longer in quarantine");

  page.daemon->stop();
  page.admin.config.topics = {"{name: " + topic + ", on_missing_id: position}"};
  page.daemon = page.admin.start();
  open_screen(page, "quarantine");
  page.browser.click_text("Try again…");
  CHECK_THAT(question(page, "Try again"), ContainsSubstring("2 become events"));
  confirm(page, "Try again");
  page.browser.wait_text("Nothing is in quarantine");
  page.admin.database.wait_for("both are done", "select count(*) from inbox.deliveries where state = 'done'", 2);
}

TEST_CASE("a handler is paused, resumed and back-filled; the audit names the person") {
  PageFixture page;
  page.start();
  page.admin.fixture.produce(5);
  page.admin.fixture.wait_done();
  open_screen(page, "handlers");
  CHECK_SCREEN(page, "handlers");
  page.browser.click_text("recorder");
  page.browser.wait_text("Settings: retries, fuse, limits");
  CHECK_THAT(page.browser.text(), ContainsSubstring("retry.max_attempts"));
  CHECK_SCREEN(page, "handler");
  page.browser.click_text("Pause…");
  fill(page, "input", "maintenance <i>");
  page.browser.click_text("Continue", dialog);
  CHECK_THAT(question(page, "Pause"), ContainsSubstring("maintenance <i>"));
  confirm(page, "Pause");
  page.browser.click_text("Resume…");
  confirm(page, "Resume");
  page.browser.wait_for("document.querySelector('h2 .good')");
  page.browser.click_text("Back-fill…");
  fill(page, "input", "1d");
  page.browser.click("dialog [type=checkbox]");
  page.browser.click_text("Continue", dialog);
  CHECK_THAT(question(page, "Start the back-fill"), ContainsSubstring("It passes 5 stored offsets"));
  confirm(page, "Start the back-fill");
  wait_until("each event was handled twice", [&] { return page.admin.fixture.counts().calls == 10; });
  page.go("audit");
  CHECK_THAT(page.browser.text(".list"), ContainsSubstring("handlers backfill") && ContainsSubstring("alice@desk"));
  CHECK_SCREEN(page, "audit");
}

TEST_CASE("the window of a batch handler is closed by hand, and its next close is shown") {
  PageFixture page;
  page.admin.config.handlers[0].more = {"mode: batch", "batch: {every: 24h}"};
  page.start();
  page.admin.fixture.produce(3);
  page.admin.fixture.wait_stored(3);
  open_screen(page, "handlers?handler=recorder");
  page.browser.wait_text("Next close");
  page.browser.click_text("Run now…");
  CHECK_THAT(question(page, "Close the window"), ContainsSubstring("3 events wait"));
  confirm(page, "Close the window");
  page.admin.fixture.wait_done();
  CHECK_SCREEN(page, "handler-batch");
}

TEST_CASE("a partition is read again from an offset, after a dry run that counts known events") {
  PageFixture page;
  page.start();
  page.admin.fixture.produce(10);
  page.admin.fixture.wait_done();
  open_screen(page, "partitions");
  page.browser.wait_for("document.querySelector('.list')?.innerText.includes('10')");
  CHECK_SCREEN(page, "partitions");
  page.browser.click_text("Seek…");
  fill(page, "input", "4");
  page.browser.click_text("Continue", dialog);
  CHECK_THAT(question(page, "Read from there"),
             ContainsSubstring("6 offsets are read again: 6 are known and absorbed"));
  confirm(page, "Read from there");
  page.admin.database.wait_for("the position is 10 again", "select sum(position)::bigint from inbox.lag", 10);
  CHECK(page.admin.fixture.counts().is_perfect());
  page.go("configuration?key=token");
  CHECK_THAT(page.browser.text(), ContainsSubstring("admin.token") && !ContainsSubstring(token));
  CHECK_SCREEN(page, "configuration");
}

TEST_CASE("a message that the brokers refuse is shown in the outbox, and deleted") {
  PageFixture page;
  page.start();
  page.admin.database.run("select inbox.publish($1, 'k<b>', '{}'::jsonb)", {random_name("unknown")});
  page.admin.database.wait_for("it is stopped", "select count(*) from inbox.outbox_lane", 1);
  open_screen(page, "outbox");
  page.browser.wait_text("UNKNOWN_TOPIC");
  CHECK_SCREEN(page, "outbox");
  page.browser.click_text("Delete…");
  CHECK_THAT(confirm(page, "Delete for good"), ContainsSubstring("1 changed"));
  page.browser.wait_text("No message is stopped.");
}
