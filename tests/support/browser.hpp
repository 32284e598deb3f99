#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/wait.hpp"

namespace inboxd::support {

/// A tab of a headless Chromium, over chromedriver (W3C WebDriver). The program's tabs share a browser, which ends with
/// the program. A tab has a session storage of its own.
class Browser final {
 public:
  using Json = nlohmann::json;

  Browser();
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void open(const std::string& url);
  /// Runs the body of a function, `return document.title`; `arguments` is an array. Waits for a promise.
  Json run(const std::string& script, const Json& arguments = Json::array());
  /// Waits until the expression holds; throws with the page's text at the timeout.
  void wait_for(const std::string& expression);
  /// Waits until the text is seen on the page.
  void wait_text(const std::string& text);
  /// The text that a person sees; of the whole page by default.
  std::string text(const std::string& selector = "body");
  bool has(const std::string& selector);
  std::int64_t count(const std::string& selector);

  /// Waits for the element, then clicks it as a mouse does.
  void click(const std::string& selector);
  /// The button, link or summary with this text.
  void click_text(const std::string& text, const std::string& within = "body");
  void type(const std::string& selector, const std::string& text);
  /// A key for the focused element: a character, or one of WebDriver's, such as `\uE007` for Enter.
  void press(const std::string& key);

  void resize(int width, int height);
  /// prefers-color-scheme
  void prefer(const std::string& scheme);
  /// Writes NAME-WIDTH-SCHEME.png, for 1440 and 360 pixels, light and dark, if INBOXD_SCREENSHOTS names a folder.
  void screenshots(const std::string& name);

  /// Findings of axe-core of at least that impact, a line each: `serious color-contrast: .faint`.
  std::vector<std::string> barriers(const std::vector<std::string>& impacts = {"serious", "critical"});
  /// Errors in the console since the last call: exceptions, violations of the Content-Security-Policy, refused
  /// requests.
  std::vector<std::string> errors();

 private:
  std::string find(const std::string& selector);
  void click_found(const std::string& script, const Json& arguments);

  std::string window_;
};

}  // namespace inboxd::support
