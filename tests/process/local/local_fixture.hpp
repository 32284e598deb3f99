#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "process/support/final_verify.hpp"
#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/recording.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A schema, and a configuration without Kafka: the local topic `signup` and a recorder. `more` are further keys of the
/// handler in YAML. A test ends with `inboxd verify`.
struct LocalFixture {
  explicit LocalFixture(std::vector<std::string> more = {}) : LocalFixture{needed("INBOXD_TEST_PG"), std::move(more)} {}
  LocalFixture(const std::string& url, std::vector<std::string> more) : database{url} {
    config.topics = {"{name: signup, source: local}"};
    config.sections["local"] = "lease: 1s";
    HandlerText handler;
    handler.settings["file"] = recording.file();
    handler.more = std::move(more);
    config.handlers.push_back(handler);
  }

  std::unique_ptr<DaemonProcess> start() {
    auto daemon = std::make_unique<DaemonProcess>(config);
    daemon->wait_ready();
    return daemon;
  }
  /// Returns its id. `more`: arguments by name, in SQL.
  std::string enqueue(const std::string& type = "made", const std::string& more = "") {
    return database.text("select inbox.enqueue('signup', $1, '{}'" + more + ")", {type});
  }
  void wait_done(std::int64_t events) {
    database.wait_for(std::to_string(events) + " events are done",
                      "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done'",
                      events);
  }

  Database database;
  Recording recording;
  ConfigText config{database};
  FinalVerify final_verify{database, config};
};

}  // namespace inboxd::support
