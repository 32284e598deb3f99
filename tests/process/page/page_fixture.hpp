#pragma once
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>

#include "process/support/admin_fixture.hpp"
#include "support/browser.hpp"

namespace inboxd::support {

/// A running daemon with the operators' page, and a browser. Change `admin.config` before `start`.
class PageFixture final {
 public:
  explicit PageFixture(int partitions = 1, const std::string& more = "", const std::string& database_url = "")
      : admin{partitions, more, database_url} {}

  AdminFixture admin;
  std::unique_ptr<DaemonProcess> daemon;
  Browser browser;

  void start() { daemon = admin.start(); }
  /// Deletes the topic and creates it again while the daemon is stopped: its partitions halt.
  void recreate_topic(int partitions) {
    start();
    admin.fixture.produce(10);
    CHECK(admin.fixture.wait_done().is_perfect());
    daemon->stop();
    admin.fixture.kafka.delete_topic(admin.topic);
    admin.fixture.kafka.create_topic(partitions, admin.topic);
    admin.fixture.produce(5);
    start();
    admin.database.wait_for("all are halted", "select count(*) from inbox.lag where halted_reason is not null",
                            partitions);
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(admin.port) + "/"; }

  /// Opens the page with the token, as the link of `inboxd ui` does, and waits for a screen: `events?topic=a`.
  void open(const std::string& screen = "", const std::string& credential = token,
            const std::string& actor = "alice@desk") {
    browser.open(address() + "#token=" + credential + "&actor=" + actor);
    shown("#/");
    if (!screen.empty()) go(screen);
  }
  /// To another screen, in the same page.
  void go(const std::string& screen) {
    browser.run("location.hash = arguments[0]", {"#/" + screen});
    shown("#/" + screen);
  }
  /// Errors of the console, without the answer of a daemon that keeps no history.
  std::vector<std::string> errors() {
    auto out = browser.errors();
    std::erase_if(out, [](const std::string& line) { return line.find("/v1/history") != std::string::npos; });
    return out;
  }
  /// Waits until the screen shows its data.
  void shown(const std::string& hash) {
    browser.wait_for("document.querySelector('main')?.dataset.address === '" + hash +
                     "' && !document.querySelector('main').hasAttribute('aria-busy')");
  }
};

}  // namespace inboxd::support
