#pragma once
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/wait.hpp"

namespace inboxd::support {

/// A handler `http` and the service of service.py.
struct HttpFixture : DaemonFixture {
  using Json = nlohmann::json;

  explicit HttpFixture(std::vector<std::string> more = {}, int partitions = 1) : DaemonFixture{partitions} {
    start_service();
    config.sections["handler_defaults"] = "lease: 2s, concurrency: 8";
    auto& handler = config.handlers[0];
    handler.plugin = "http";
    handler.settings = {{"url", "http://127.0.0.1:" + port + "/events"}};
    handler.more = {"retry: {max_attempts: 3, backoff: fixed, base: 50ms}"};
    handler.more.insert(handler.more.end(), more.begin(), more.end());
  }

  void start_service() {
    std::filesystem::remove(folder / "port");
    service.emplace(Command{.arguments = {"python3", INBOXD_HTTP_SERVICE, folder / "port", folder / "requests"},
                            .environment = {{"PORT", port}},
                            .err = folder / "service.err"});
    wait_until("the service listens", [&] { return std::filesystem::exists(folder / "port"); });
    std::ifstream{folder / "port"} >> port;
  }
  std::vector<Json> requests() const {
    std::vector<Json> out;
    std::ifstream file{folder / "requests"};
    for (std::string line; std::getline(file, line);) {
      if (const Json request = Json::parse(line, nullptr, false); request.is_object()) out.push_back(request);
    }
    return out;
  }
  std::size_t requests_of(const std::string& type) const {
    std::size_t out = 0;
    for (const Json& request : requests()) out += request["headers"].value("ce-type", "") == type ? 1 : 0;
    return out;
  }
  /// `dead done done`
  std::string states(int events) {
    database.wait_for("all are finished", "select count(*) from inbox.deliveries where finished_at is not null",
                      events);
    return database.text("select string_agg(state, ' ' order by state) from inbox.deliveries");
  }
  std::string failures() {
    return database.text(
        "select coalesce(string_agg(error_class || ': ' || message, ', ' order by occurred_at), '') "
        "from inbox.failures");
  }

  TempFolder folder;
  std::string port = "0";
  std::optional<Process> service;
};

}  // namespace inboxd::support
