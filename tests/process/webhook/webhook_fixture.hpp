#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "process/support/final_verify.hpp"
#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/http.hpp"
#include "support/recording.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A schema, and a configuration without Kafka: the local topic `hooks` that takes events over HTTP, and a recorder.
/// `http`: the topic's rules in YAML. `server_url`: of the test's own server. A test ends with `inboxd verify`.
struct WebhookFixture {
  explicit WebhookFixture(const std::string& http = "{token: t0ken}", const std::string& limits = "",
                          const std::string& topic_more = "", const std::string& database_url = "",
                          const std::string& server_url = "")
      : limits_{limits},
        database_url_{database_url},
        database{server_url.empty() ? needed("INBOXD_TEST_PG") : server_url} {
    config.topics = {topic("hooks", http, topic_more)};
    config.sections["local"] = "lease: 1s";
    config.sections["ingest"] = ingest(port);
    if (!database_url.empty()) config.url = database_url;
    HandlerText handler;
    handler.settings["file"] = recording.file();
    config.handlers.push_back(handler);
  }

  static std::string topic(const std::string& name, const std::string& http, const std::string& more = "") {
    return "{name: " + name + ", source: local, http: " + http + more + "}";
  }
  std::string ingest(int listen) const {
    return "listen: '127.0.0.1:" + std::to_string(listen) + "'" + more_ingest +
           (limits_.empty() ? "" : ", http: {" + limits_ + "}");
  }
  std::unique_ptr<DaemonProcess> start() {
    auto daemon = std::make_unique<DaemonProcess>(config);
    daemon->wait_ready();
    return daemon;
  }
  /// Another instance, on a port of its own, with these topics.
  std::unique_ptr<DaemonProcess> start_second(int its_port, const std::vector<std::string>& topics) {
    ConfigText other = config;
    other.topics = topics;
    other.sections["ingest"] = ingest(its_port);
    auto daemon = std::make_unique<DaemonProcess>(other);
    daemon->wait_ready();
    return daemon;
  }
  std::unique_ptr<DaemonProcess> start_second(int its_port) { return start_second(its_port, config.topics); }
  HttpAnswer send(const std::string& id, const std::string& body, std::vector<std::string> more = {},
                  const std::string& to = "hooks") const {
    more.push_back("Authorization: Bearer t0ken");
    if (!id.empty()) more.push_back("Idempotency-Key: " + id);
    return post(port, "/v1/topics/" + to + "/events", body, more);
  }
  void wait_done(std::int64_t events) {
    database.wait_for(std::to_string(events) + " events are done",
                      "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done'",
                      events);
  }

  const std::string limits_, database_url_;
  std::string more_ingest;  ///< set before start()
  const int port = free_port();
  Database database;
  Recording recording;
  ConfigText config{database};
  FinalVerify final_verify{database, config};
};

}  // namespace inboxd::support
