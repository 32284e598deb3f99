#include "support/browser.hpp"

#include <filesystem>
#include <memory>
#include <stdexcept>

#include "support/http.hpp"
#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

using Json = Browser::Json;

constexpr const char* element_name = "element-6066-11e4-a52e-4f735466cecf";  // of the standard

/// chromedriver and a session. Chromium ends when its pipe to chromedriver does, also if this process is killed.
class Driver final {
 public:
  Driver() {
    wait_until("chromedriver listens", [&] {
      try {
        return get(port_, "/status").status == 200;
      } catch (const std::runtime_error&) {
        return false;
      }
    });
    const Json options = {
        {"binary", "/usr/bin/chromium"},
        {"args",
         {"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
          "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
          "--remote-debugging-pipe", "--force-device-scale-factor=1", "--window-size=1440,900",
          "--user-data-dir=" + (folder_ / "profile").string()}}};
    const Json wanted = {{"goog:chromeOptions", options},
                         {"goog:loggingPrefs", {{"browser", "ALL"}}},
                         {"timeouts", {{"script", patience.count()}}}};
    session_ = ask_driver("POST", "/session", {{"capabilities", {{"alwaysMatch", wanted}}}}).at("sessionId");
  }

  ~Driver() {
    try {
      ask("DELETE", "");
      wait_until("Chromium has ended", [&] { return !std::filesystem::is_symlink(folder_ / "profile/SingletonLock"); });
    } catch (const std::exception&) {  // Chromium may have crashed; its test has failed then
    }
  }

  Json ask(const std::string& method, const std::string& path, const Json& body = Json::object()) {
    return ask_driver(method, "/session/" + session_ + path, body);
  }

 private:
  Json ask_driver(const std::string& method, const std::string& path, const Json& body) {
    HttpQuestion question{.method = method, .target = path, .headers = {"Content-Type: application/json"}};
    if (method == "POST") question.body = body.dump();
    const HttpAnswer answer = support::ask(port_, question);
    Json value = Json::parse(answer.body.empty() ? R"({"value": null})" : answer.body).at("value");
    if (answer.status != 200) {
      throw std::runtime_error{"browser: " + method + " " + path + ": " +
                               value.value("message", answer.body).substr(0, 500)};
    }
    return value;
  }

  const TempFolder folder_;
  const int port_ = free_port();
  const Process process_{{.arguments = {"chromedriver", "--port=" + std::to_string(port_)},
                          .environment = {{"TMPDIR", folder_.path()}}}};
  std::string session_;
};

Driver& driver() {
  static Driver out;
  return out;
}

std::string axe_script() {
  const auto finished = run_to_end({.arguments = {"config/setup/services"}}, milliseconds{300'000});
  const std::string programs = finished.out.substr(0, finished.out.find_last_not_of('\n') + 1);
  const std::filesystem::path folder{programs.substr(programs.rfind('\n') + 1)};
  for (const auto& file : std::filesystem::recursive_directory_iterator{folder.parent_path() / "lib"}) {
    if (file.path().filename() == "axe.min.js") return read_file(file.path());
  }
  throw std::runtime_error{"no axe.min.js below " + folder.parent_path().string() + ": " + finished.err};
}

std::string bytes_of_base64(const std::string& text) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto value = digits.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return out;
}

}  // namespace

Browser::Browser() {
  driver();
  window_ = driver().ask("POST", "/window/new", {{"type", "tab"}}).at("handle");
  driver().ask("POST", "/window", {{"handle", window_}});
  errors();  // of the tabs before
}

Browser::~Browser() {
  try {
    driver().ask("POST", "/window", {{"handle", window_}});
    const Json left = driver().ask("DELETE", "/window");
    driver().ask("POST", "/window", {{"handle", left.at(0)}});
  } catch (const std::exception&) {  // see ~Driver
  }
}

void Browser::open(const std::string& url) {
  driver().ask("POST", "/window", {{"handle", window_}});
  driver().ask("POST", "/url", {{"url", url}});
}

Json Browser::run(const std::string& script, const Json& arguments) {
  driver().ask("POST", "/window", {{"handle", window_}});
  return driver().ask("POST", "/execute/sync", {{"script", script}, {"args", arguments}});
}

void Browser::wait_for(const std::string& expression) {
  wait_until(expression, [&] { return run("return Boolean(" + expression + ")").get<bool>(); }, patience,
             [&] { return text(); });
}

void Browser::wait_text(const std::string& text) {
  wait_until("the page shows " + text,
             [&] { return run("return document.body.innerText.includes(arguments[0])", {text}).get<bool>(); }, patience,
             [&] { return this->text(); });
}

std::string Browser::text(const std::string& selector) {
  return run("return document.querySelector(arguments[0])?.innerText ?? ''", {selector});
}

bool Browser::has(const std::string& selector) { return count(selector) > 0; }

std::int64_t Browser::count(const std::string& selector) {
  return run("return document.querySelectorAll(arguments[0]).length", {selector});
}

std::string Browser::find(const std::string& selector) {
  wait_until(selector + " is on the page", [&] { return has(selector); }, patience, [&] { return text(); });
  return driver().ask("POST", "/element", {{"using", "css selector"}, {"value", selector}}).at(element_name);
}

void Browser::click(const std::string& selector) {
  click_found("return document.querySelector(arguments[0])", {selector});
}

void Browser::click_text(const std::string& text, const std::string& within) {
  click_found(R"(
const place = [...document.querySelectorAll(arguments[1])].at(-1);
return [...place?.querySelectorAll('button, a, summary') ?? []]
  .find((each) => each.innerText.trim() === arguments[0] && !each.disabled);)",
              {text, within});
}

/// A refresh may replace the element between the two requests.
void Browser::click_found(const std::string& script, const Json& arguments) {
  wait_until("a click on " + arguments.dump(), [&] {
    const Json found = run(script, arguments);
    if (!found.is_object()) return false;
    try {
      driver().ask("POST", "/element/" + found.at(element_name).get<std::string>() + "/click");
      return true;
    } catch (const std::runtime_error& error) {
      if (std::string{error.what()}.find("stale element") == std::string::npos) throw;
      return false;
    }
  }, patience, [&] { return text(); });
}

void Browser::type(const std::string& selector, const std::string& text) {
  driver().ask("POST", "/element/" + find(selector) + "/value", {{"text", text}});
}

void Browser::press(const std::string& key) {
  const Json keys = {{{"type", "keyDown"}, {"value", key}}, {{"type", "keyUp"}, {"value", key}}};
  driver().ask("POST", "/actions", {{"actions", {{{"type", "key"}, {"id", "keyboard"}, {"actions", keys}}}}});
}

void Browser::resize(int width, int height) {
  driver().ask("POST", "/goog/cdp/execute", {{"cmd", "Emulation.setDeviceMetricsOverride"}, {"params",
      {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}}}});
}

void Browser::prefer(const std::string& scheme) {
  driver().ask("POST", "/goog/cdp/execute", {{"cmd", "Emulation.setEmulatedMedia"}, {"params",
      {{"features", {{{"name", "prefers-color-scheme"}, {"value", scheme}}}}}}});
}

void Browser::screenshots(const std::string& name) {
  const char* const folder = std::getenv("INBOXD_SCREENSHOTS");
  if (folder == nullptr) return;
  std::filesystem::create_directories(folder);
  for (const int width : {1440, 360}) {
    for (const char* const scheme : {"light", "dark"}) {
      prefer(scheme);
      resize(width, width == 360 ? 780 : 900);
      const int height = run("return Math.min(4000, Math.max(innerHeight, document.documentElement.scrollHeight))");
      resize(width, height);
      const std::string image = driver().ask("GET", "/screenshot");
      write_file(std::filesystem::path{folder} / (name + "-" + std::to_string(width) + "-" + scheme + ".png"),
                 bytes_of_base64(image));
    }
  }
  prefer("light");
  resize(1440, 900);
}

std::vector<std::string> Browser::barriers(const std::vector<std::string>& impacts) {
  static const std::string axe = axe_script();
  run(axe + "; return true");
  const Json found = run(R"(
return axe.run(document).then(({violations}) => violations.filter(({impact}) => arguments[0].includes(impact))
  .map(({impact, id, nodes}) => `${impact} ${id}: ` +
    nodes.map(({html, failureSummary}) => html + ' ' + failureSummary).slice(0, 3).join(' | ')));)",
                         Json::array({Json(impacts)}));
  return found.get<std::vector<std::string>>();
}

std::vector<std::string> Browser::errors() {
  std::vector<std::string> out;
  for (const Json& line : driver().ask("POST", "/se/log", {{"type", "browser"}})) {
    if (line.at("level") == "SEVERE") out.push_back(line.at("message"));
  }
  return out;
}

}  // namespace inboxd::support
