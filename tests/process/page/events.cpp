// The screens of events: search, lists, one event.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/page/dialogs.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string first_row = "document.querySelector('.list a.opens')?.innerText";

/// An id for the header `id`.
std::string id_of(int number) {
  std::string digits = std::to_string(number);
  return "0193d2a0-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

Message keyed(const std::string& topic, int number, const std::string& key, const std::string& payload = "{}",
              const std::string& type = "Happened") {
  Message out = event_message(topic, id_of(number), payload, type);
  out.key = key;
  out.partition = 0;
  return out;
}

}  // namespace

TEST_CASE("a search box finds events by key, id and place; pages and keys walk through the list") {
  PageFixture page;
  const auto& topic = page.admin.topic;
  page.start();
  for (int i = 0; i < 120; ++i) page.admin.fixture.kafka.produce({keyed(topic, i, i % 2 == 0 ? "even" : "odd")});
  page.admin.fixture.wait_stored(120);
  open_screen(page, "events");
  CHECK(page.browser.count(".list tbody tr") == 50);
  CHECK_SCREEN(page, "events");

  page.browser.click_text("Older →");
  page.browser.wait_for(first_row + " === '" + topic + "/0/69'");
  page.browser.click_text("Older →");
  page.browser.wait_for(first_row + " === '" + topic + "/0/19'");
  CHECK(page.browser.count(".list tbody tr") == 20);

  page.go("events");
  page.browser.press("/");
  CHECK(page.browser.run("return document.activeElement.name") == "q");
  page.browser.type("[name=q]", "odd\uE007");
  page.browser.wait_text("Events with the key odd");
  CHECK(page.browser.count(".list tbody tr") == 50);
  page.browser.press("\uE00C");  // Escape leaves the box
  page.browser.press("j");
  page.browser.press("j");
  CHECK(page.browser.run("return document.activeElement.innerText") == topic + "/0/117");
  page.browser.press("\uE007");
  page.browser.wait_for("document.querySelector('.timeline')");
  page.browser.press("\uE00C");
  page.browser.wait_text("Events with the key odd");
  CHECK(page.browser.errors() == std::vector<std::string>{});

  for (const std::string& text : {id_of(7), topic + "/0/7"}) {
    page.go("events");
    page.browser.type("[name=q]", text + "\uE007");
    page.browser.wait_text(id_of(7));
    page.browser.wait_for("document.querySelector('.timeline')");
  }
  page.go("events");
  page.browser.type("[name=q]", "nobody\uE007");
  page.browser.wait_text("No event has nobody as its key or id.");
}

TEST_CASE("one event shows body, headers and its way to each handler, every error in full, and its command") {
  PageFixture page;
  page.admin.fixture.set("fail_type", "Bad");
  page.admin.config.handlers[0].more = {"retry: {max_attempts: 2, base: 10ms}"};
  page.start();
  const auto& topic = page.admin.topic;
  const std::string payload = R"({"big": 12345678901234567890123, "b": {"c": [1, 2]}})";
  page.admin.fixture.kafka.produce({keyed(topic, 1, "k", payload, "Bad")});
  page.admin.database.wait_for("it is dead", "select count(*) from inbox.dead_letter", 1);
  open_screen(page, "event?id=" + id_of(1));
  const std::string text = page.browser.text();
  CHECK_THAT(text, ContainsSubstring("12345678901234567890123"));
  CHECK_THAT(text, ContainsSubstring("written to Kafka"));
  CHECK_THAT(text, ContainsSubstring("attempt 1 failed"));
  CHECK_THAT(text, ContainsSubstring("attempt 2 failed"));
  CHECK(page.browser.count(".failure") == 2);
  CHECK(page.browser.run("return document.querySelector('[title^=\"inboxd events show\"]').title") ==
        "inboxd events show " + id_of(1));
  CHECK_SCREEN(page, "event");
  page.browser.click_text("Hex");
  page.browser.wait_text("00000000  7b 22 62 69 67");
  page.browser.click_text("Text");
  page.browser.wait_text(R"({"big": 12345678901234567890123, "b")");
}

TEST_CASE("keys, types and payloads with HTML, marks of writing direction and a mebibyte of text are shown as text") {
  PageFixture page;
  page.admin.config.topics = {"{name: " + page.admin.topic + ", payload_limit: 2MiB}"};
  page.start();
  const auto& topic = page.admin.topic;
  const std::string hostile =
      "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\u202Etxt\u202C\x01";
  const std::string deep(5'000, '[');
  page.admin.fixture.kafka.produce(
      {keyed(topic, 1, hostile, hostile, hostile), keyed(topic, 2, "big", "\"" + std::string(1'048'000, 'x') + "\""),
       keyed(topic, 3, "deep", deep + std::string(5'000, ']')), keyed(topic, 4, std::string(200'000, 'k')),
       keyed(topic, 5, "\xff\xfe", "\xff\xfe<b>")});
  page.admin.fixture.wait_stored(5);
  open_screen(page, "events");
  CHECK_SCREEN(page, "events-hostile");
  page.browser.resize(360, 800);
  CHECK(page.browser.run("return document.documentElement.scrollWidth <= innerWidth").get<bool>());

  page.go("event?id=" + id_of(1));
  CHECK_THAT(page.browser.text(), ContainsSubstring("<img src=x onerror="));
  CHECK_THAT(page.browser.text(), ContainsSubstring("⟦U+202E⟧txt⟦U+202C⟧⟦U+0001⟧"));
  CHECK(page.browser.run("return document.querySelectorAll('main img, main script').length") == 0);
  CHECK(page.browser.run("return document.documentElement.scrollWidth <= innerWidth").get<bool>());
  CHECK_SCREEN(page, "event-hostile");

  page.go("event?id=" + id_of(2));
  CHECK(page.browser.run("return document.querySelector('main').innerText.length < 5000").get<bool>());
  page.browser.click_text("Text");
  page.browser.click_text("Show all 1,048,002 characters");
  page.browser.wait_for("document.querySelector('.raw').textContent.length === 1048002");
  page.go("event?id=" + id_of(3));
  page.browser.click_text("JSON");
  page.browser.wait_text("1 item");
  page.go("event?id=" + id_of(4));
  CHECK(page.browser.run("return document.documentElement.scrollWidth <= innerWidth").get<bool>());
  page.go("event?id=" + id_of(5));
  CHECK_THAT(page.browser.text(), ContainsSubstring("0xfffe"));
  CHECK_THAT(page.browser.text(), ContainsSubstring("ff fe 3c 62 3e"));
  CHECK(page.browser.run("return document.title") != "run");
  CHECK(page.browser.errors() == std::vector<std::string>{});
}
