// The screens of dead letters and of blocked keys.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/page/dialogs.hpp"
#include "process/support/application.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string dead = "select count(*) from inbox.dead_letter";

/// Has events of type Bad dead-lettered at their first failure.
void add_dead_letters(PageFixture& page, int events) {
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"retry: {max_attempts: 1}"};
  page.start();
  page.admin.fixture.produce(events, "Bad");
  page.admin.database.wait_for("all are dead", dead, events);
}

/// The screen of their group.
std::string group_of(PageFixture& page) {
  return "failures?handler=recorder&error=" +
         page.admin.database.text("select distinct error_class from inbox.dead_letters");
}

}  // namespace

TEST_CASE("ten thousand dead letters of a group are replayed as of the load, and those that failed again are listed") {
  PageFixture page;
  add_dead_letters(page, 10'000);
  open_screen(page, "failures");
  CHECK_THAT(page.browser.text(".list"), ContainsSubstring("10,000"));
  CHECK_SCREEN(page, "failures");
  page.go(group_of(page));
  CHECK(page.browser.count(".list tbody tr") == 50);
  CHECK_SCREEN(page, "failures-group");
  page.admin.fixture.produce(3, "Bad");  // after the load
  page.admin.database.wait_for("three more", dead, 10'003);
  const auto last = page.admin.database.text("select max(dead_letter_id)::text from inbox.dead_letter");
  page.browser.click_text("Replay all…");
  CHECK_THAT(question(page, "Replay"), ContainsSubstring("10,000 dead letters (recorder: 10,000)"));
  CHECK_THAT(confirm(page, "Replay"), ContainsSubstring("10,000 replayed"));
  page.admin.database.wait_for("all have failed again", dead + " where dead_letter_id > " + last, 10'000);
  page.go("failures");
  page.browser.wait_text("Since your last replay of recorder, 10,003 dead letters");
  page.browser.click_text("10,003 dead letters");
  page.browser.wait_text("again");
  CHECK(page.browser.errors() == std::vector<std::string>{});
}

TEST_CASE("two viewers replay and discard the same dead letter: one does it, the other is told") {
  PageFixture page;
  add_dead_letters(page, 1);
  open_screen(page, group_of(page));
  page.browser.click_text("Replay…", "main p.buttons");
  question(page, "Replay");
  Browser other;
  other.open(page.address() + "#token=" + token + "&actor=bob@desk");
  other.wait_for("document.querySelector('.verdict, main h1')");
  other.run("location.hash = arguments[0]", {"#/" + group_of(page)});
  other.click_text("Discard…", "main p.buttons");
  other.click_text("Discard for good", dialog);
  other.wait_text("1 discarded");
  const std::string told = confirm(page, "Replay");
  CHECK_THAT(told, ContainsSubstring("no error class \"test.failure\""));  // the only one of its class
  page.browser.wait_text("No dead letter matches.");
  const auto actor = page.admin.database.text("select actor from inbox.audit where operation = 'dead discard'");
  CHECK(actor.starts_with("bob@desk"));
}

TEST_CASE("a note on a group of dead letters is shown with its author to everybody") {
  PageFixture page;
  add_dead_letters(page, 2);
  open_screen(page, group_of(page));
  page.browser.click_text("Note…", "main p.buttons");
  fill(page, "input[type=text]", "<b>fixed</b> in 1.4");
  page.browser.click_text("Continue", dialog);
  CHECK_THAT(question(page, "Note"), ContainsSubstring("2 dead letters: <b>fixed</b> in 1.4"));
  confirm(page, "Note");
  page.browser.wait_text("<b>fixed</b> in 1.4");
  page.go("failures");
  page.browser.wait_text("<b>fixed</b> in 1.4");
  const auto actor = page.admin.database.text("select actor from inbox.audit where operation = 'dead note'");
  CHECK_THAT(page.browser.text(".list"), ContainsSubstring(actor));
  CHECK_SCREEN(page, "failures-note");
}

TEST_CASE("chosen dead letters are discarded, the others stay; Cancel changes nothing") {
  PageFixture page;
  add_dead_letters(page, 4);
  open_screen(page, group_of(page));
  page.browser.click(".list tbody tr:nth-child(1) input");
  page.browser.click(".list tbody tr:nth-child(3) input");
  page.browser.wait_text("2 chosen");
  page.browser.click_text("Discard…", ".chosen");
  CHECK_THAT(question(page, "Discard for good"), ContainsSubstring("2 dead letters (recorder: 2)"));
  page.browser.click_text("Cancel", dialog);
  page.browser.wait_for("!document.querySelector('dialog')");
  CHECK(page.admin.database.number(dead) == 4);
  page.browser.click_text("Discard…", ".chosen");
  CHECK_THAT(confirm(page, "Discard for good"), ContainsSubstring("2 discarded"));
  CHECK(page.admin.database.number(dead) == 2);
  CHECK(page.browser.errors() == std::vector<std::string>{});
}

TEST_CASE("a dead letter is edited beside its difference, and replayed with the edit") {
  PageFixture page;
  Application application{page.admin.database};
  application.create_table();
  page.admin.config.handlers = {application.statement("book", insert_each, {"retry: {max_attempts: 1}"})};
  page.start();
  page.admin.fixture.kafka.produce({Message{.topic = page.admin.topic,
                                            .payload = R"({"n": "seven", "note": "<b>"})",
                                            .headers = {{"id", "0193d2a0-0000-7000-8000-00000000000d"}},
                                            .partition = 0}});
  page.admin.database.wait_for("it is dead", dead, 1);
  open_screen(page, "event?id=" + page.admin.topic + "/0/0");
  page.browser.click_text("Edit…");
  fill(page, "textarea", R"({"n": 7, "note": "<b>"})");
  page.browser.click_text("Show the difference", dialog);
  page.browser.wait_for("document.querySelector('dialog .added')");
  CHECK_THAT(page.browser.text("dialog .removed"), ContainsSubstring(R"("n": "seven",)"));
  CHECK_THAT(page.browser.text("dialog .added"), ContainsSubstring(R"("n": 7,)"));
  CHECK_SCREEN(page, "edit");
  page.browser.click_text("Continue", dialog);
  CHECK_THAT(confirm(page, "Replay with the edit"), ContainsSubstring("1 replayed"));
  application.wait_for("it is booked", "select count(*) from app.applied where n = 7", 1);
  page.go("events");
  page.go("event?id=" + page.admin.topic + "/0/0");
  page.browser.wait_text("Edited body for book");
  CHECK(page.browser.errors() == std::vector<std::string>{});
}

TEST_CASE("a blocked key shows who holds it and what runs next; its event is retried, then skipped") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"mode: sequential", "events_per_call: 1", "retry: {base: 1h, cap: 1h}"};
  page.start();
  const auto& topic = page.admin.topic;
  const auto event = [&](const std::string& id, const std::string& type) {
    Message out = event_message(topic, "0193d2a0-0000-7000-8000-00000000000" + id, "{}", type);
    out.key = "A<b>";
    out.partition = 0;
    return out;
  };
  page.admin.fixture.kafka.produce({event("1", "Bad"), event("2", "Happened"), event("3", "Happened")});
  page.admin.database.wait_for("the key is blocked", "select coalesce(sum(waiting), 0)::bigint from inbox.lanes", 2);
  open_screen(page, "keys");
  CHECK_SCREEN(page, "keys");
  page.browser.click_text("A<b>");
  page.browser.wait_text("Runs if skipped");
  CHECK_THAT(page.browser.text(".facts"), ContainsSubstring(topic + "/0/1"));
  CHECK_SCREEN(page, "key");
  page.browser.click_text("Retry now…");
  confirm(page, "Retry now");
  page.admin.database.wait_for("it has failed again", "select count(*) from inbox.lanes where attempts = 2", 1);
  page.browser.wait_for("document.querySelector('main .facts')?.innerText.includes('on attempt 2')");
  page.browser.click_text("Skip…");
  fill(page, "input", "obsolete");
  page.browser.click_text("Continue", dialog);
  confirm(page, "Skip the event");
  page.admin.database.wait_for("the others are done", "select count(*) from inbox.deliveries where state = 'done'", 2);
  page.go("keys");
  page.browser.wait_text("No key is blocked");
  CHECK(page.browser.errors() == std::vector<std::string>{});
}

TEST_CASE("a parked key is released, and its dead letter stays") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"mode: sequential", "events_per_call: 1", "retry: {max_attempts: 1}",
                                        "on_failure: park"};
  page.start();
  for (const std::string type : {"Bad", "Happened"}) {
    const std::string last = type == "Bad" ? "1" : "2";
    Message message = event_message(page.admin.topic, "0193d2a0-0000-7000-8000-00000000000" + last, "{}", type);
    message.key = "A";
    message.partition = 0;
    page.admin.fixture.kafka.produce({message});
  }
  page.admin.database.wait_for("both are dead letters", dead, 2);
  open_screen(page, "keys");
  page.browser.click_text("A");
  page.browser.wait_text("Runs first if released");
  page.browser.click_text("Release…");
  CHECK_THAT(confirm(page, "Release"), ContainsSubstring("1 released"));
  page.admin.database.wait_for("it is done", "select count(*) from inbox.deliveries where state = 'done'", 1);
  CHECK(page.admin.database.number(dead) == 1);
  CHECK(page.browser.errors() == std::vector<std::string>{});
}
