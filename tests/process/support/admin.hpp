#pragma once
#include <memory>
#include <string>
#include <vector>

#include "process/support/stage.hpp"
#include "support/environment.hpp"

namespace inboxd::support {

inline const std::string token = "correct-horse-battery";
/// Headers of requests.
inline const std::vector<std::string> with_token{"Authorization: Bearer " + token};
inline const std::vector<std::string> as_json{"Content-Type: application/json"};
inline const std::vector<std::string> change{with_token[0], as_json[0]};

/// A stage whose daemon serves its admin port.
class Admin final {
 public:
  explicit Admin(int partitions = 1, const std::string& more = "", const std::string& database_url = "")
      : stage{partitions, database_url} {
    config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "', token: " + token + more;
  }

  Stage stage;
  ConfigText& config = stage.config;
  Database& database = stage.database;
  const std::string& topic = stage.topic;
  const int port = free_port();

  auto start() { return stage.start(); }
};

}  // namespace inboxd::support
