// The page in what happens seldom: lost records, a topic created again, a restore; and for readers.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/page/dialogs.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string halted = "select count(*) from inbox.lag where halted_reason is not null";

}  // namespace

TEST_CASE("a halted partition's gap is accepted on the page, which says how many offsets are lost") {
  PageFixture page;
  page.start();
  page.admin.fixture.produce(10);
  CHECK(page.admin.fixture.wait_done().is_perfect());
  page.daemon->stop();
  page.admin.fixture.kafka.produce(std::vector<Message>(20, event_message(page.admin.topic, "lost")));
  page.admin.fixture.kafka.delete_records(page.admin.topic, 0, 30);
  page.start();
  page.admin.database.wait_for("it is halted", halted, 1);
  open_screen(page, "partitions");
  page.browser.wait_text("halted");
  CHECK_SCREEN(page, "partitions-halted");
  page.browser.click_text("Accept gap…");
  CHECK_THAT(question(page, "Skip the lost offsets"), ContainsSubstring("20 offsets, 10 to 29, are lost and skipped"));
  confirm(page, "Skip the lost offsets");
  page.admin.database.wait_for("it is not halted", halted, 0);
  page.browser.wait_text("reading");
}

TEST_CASE("a topic that was created again is accepted on the page, and read from its beginning") {
  PageFixture page;
  page.recreate_topic(1);
  open_screen(page, "partitions");
  page.browser.click_text("Accept recreated…");
  CHECK_THAT(question(page, "Start at its beginning"), ContainsSubstring("is read from 0"));
  confirm(page, "Start at its beginning");
  CHECK(page.admin.fixture.wait_done().is_perfect());
}

TEST_CASE("two halted partitions stay two cards while the overview refreshes") {
  PageFixture page{2};
  page.recreate_topic(2);
  page.open();
  page.browser.wait_for("performance.getEntriesByType('resource').filter((each) => each.name.includes('/v1/status'))"
                        ".length >= 4");
  page.browser.wait_text(page.admin.topic + "/0 is halted");
  page.browser.wait_text(page.admin.topic + "/1 is halted");
  CHECK(page.browser.count(".finding") == 2);
}

TEST_CASE("waiting events of a handler are retried, and its back-fill is ended, on the page") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"retry: {base: 1h, cap: 1h}"};
  page.start();
  page.admin.fixture.produce(4, "Bad");
  page.admin.database.wait_for("each has failed", "select count(*) from inbox.failure", 4);
  open_screen(page, "handlers?handler=recorder");
  page.browser.click_text("Retry waiting…");
  CHECK_THAT(question(page, "Retry now"), ContainsSubstring("4 events"));
  confirm(page, "Retry now");
  page.admin.database.wait_for("each has failed twice", "select count(*) from inbox.failure", 8);

  page.admin.fixture.produce(200);
  page.admin.fixture.wait_stored(204);
  CHECK(post(page.admin.port, "/v1/handlers/backfill",
             R"({"handler": "recorder", "from": "1d", "again": true, "rate": 1})", change).status == 200);
  page.browser.wait_text("End back-fill…");
  page.browser.click_text("End back-fill…");
  CHECK_THAT(question(page, "End it"), ContainsSubstring("of 204 offsets are passed"));
  confirm(page, "End it");
  page.browser.wait_text("Back-fill…");
  page.go("audit");
  CHECK_THAT(page.browser.text(".list"), ContainsSubstring("events retry"));
}

TEST_CASE("a reader sees the screens without the buttons of changes") {
  PageFixture page{1, ", read_token: " + read_token};
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  page.start();
  page.admin.fixture.produce(60, "Bad");
  page.admin.database.wait_for("all are dead", "select count(*) from inbox.dead_letter", 60);
  const std::string shown =
      "[...document.querySelectorAll('button')].filter((each) => each.innerText.endsWith('…') && "
      "each.offsetParent !== null).length";
  page.open("", read_token);
  page.browser.wait_text("60 dead letters");
  page.browser.wait_for(shown + " === 0");
  for (const std::string screen : {"failures", "handlers?handler=recorder", "partitions"}) {
    page.go(screen);
    CAPTURE(screen);
    CHECK_NOTHROW(page.browser.wait_for(shown + " === 0"));
  }
  page.open("failures");
  page.browser.wait_for(shown + " > 0");
}

// fault: database restored to an earlier state, or failed over asynchronously
TEST_CASE("while the database is restored the page says so, and shows the events once they are read again") {
  PrivatePostgres server;
  PageFixture page{1, "", server.url()};
  page.start();
  page.admin.fixture.produce(20);
  CHECK(page.admin.fixture.wait_done().is_perfect());
  server.snapshot();
  page.admin.database.session().close();
  page.admin.fixture.produce(30);
  CHECK(page.admin.fixture.wait_done().is_perfect());
  page.open("partitions");
  page.browser.wait_text("50");
  server.stop();
  page.admin.database.session().close();
  page.go("handlers");
  page.browser.wait_for("document.querySelector('#notice .error, main .error')");
  server.restore();
  page.admin.database.session().close();
  CHECK(page.admin.fixture.wait_done().is_perfect());
  page.go("partitions");
  page.browser.wait_text("50");
  page.browser.wait_for("!document.querySelector('#notice .error')");
}
