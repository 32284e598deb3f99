#pragma once
#include <memory>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

inline const std::string token = "correct-horse-battery";
/// Request headers.
inline const std::vector<std::string> with_token{"Authorization: Bearer " + token};
inline const std::string read_token = "look-at-the-stars";
inline const std::vector<std::string> with_read_token{"Authorization: Bearer " + read_token};
inline const std::vector<std::string> as_json{"Content-Type: application/json"};
inline const std::vector<std::string> change{with_token[0], as_json[0]};

/// A DaemonFixture whose daemon serves its admin port.
class AdminFixture final {
 public:
  explicit AdminFixture(int partitions = 1, const std::string& more = "", const std::string& database_url = "")
      : fixture{partitions, database_url} {
    config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "', token: " + token + more;
  }

  DaemonFixture fixture;
  ConfigText& config = fixture.config;
  Database& database = fixture.database;
  const std::string& topic = fixture.topic;
  const int port = free_port();

  auto start() { return fixture.start(); }
};

}  // namespace inboxd::support
