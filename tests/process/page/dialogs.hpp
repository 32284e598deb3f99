#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "process/page/page_fixture.hpp"

namespace inboxd::support {

inline constexpr const char* dialog = "dialog[open]";

/// Opens a screen. Errors of the overview, which comes first, are those of its own tests.
inline void open_screen(PageFixture& page, const std::string& screen) {
  page.open();
  page.browser.errors();
  page.go(screen);
}

/// Waits for the question of a change, which has no barrier; returns its text.
inline std::string question(PageFixture& page, const std::string& verb) {
  page.browser.wait_for("[...document.querySelectorAll('dialog[open] button')]"
                        ".some((each) => each.innerText === '" + verb + "')");
  CHECK(page.browser.barriers() == std::vector<std::string>{});
  return page.browser.text(dialog);
}

/// Confirms the change; returns the text of its dialog at the end.
inline std::string confirm(PageFixture& page, const std::string& verb) {
  question(page, verb);
  page.browser.click_text(verb, dialog);
  page.browser.wait_for("document.querySelector('dialog[open] .buttons')?.innerText === 'Close'");
  const std::string out = page.browser.text(dialog);
  page.browser.click_text("Close", dialog);
  page.browser.wait_for("!document.querySelector('dialog[open]')");
  return out;
}

/// Types into a field of the dialog that asks for arguments, in place of its text.
inline void fill(PageFixture& page, const std::string& selector, const std::string& text) {
  const std::string field = std::string{dialog} + " " + selector;
  page.browser.wait_for("document.querySelector('" + field + "')");
  page.browser.run("document.querySelector(arguments[0]).value = ''", {field});
  page.browser.type(field, text);
}

/// The screen as it is now: without errors of the console and barriers, with pictures.
#define CHECK_SCREEN(page, name)                                    \
  do {                                                              \
    CHECK((page).browser.errors() == std::vector<std::string>{});   \
    CHECK((page).browser.barriers() == std::vector<std::string>{}); \
    (page).browser.screenshots(name);                               \
  } while (false)

}  // namespace inboxd::support
