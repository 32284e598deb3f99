#pragma once
#include <map>
#include <string>
#include <vector>

#include "support/daemon_process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A configuration and a file of tests for `inboxd test`.
struct TestingFixture {
  /// YAML of the list `handlers`.
  explicit TestingFixture(const std::string& handlers) {
    write_file(folder / "inboxd.yaml", R"(
database: {url: "postgresql://nobody@127.0.0.1:1/none"}
kafka: {brokers: "127.0.0.1:1", group: g}
topics: [{name: orders, on_missing_id: position}, {name: strict}, {name: small, tombstones: skip, payload_limit: 20B}]
handlers:
)" + handlers);
  }

  /// Runs `test` for these YAML cases on the tests' server.
  Finished run(const std::string& cases, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--database", needed("INBOXD_TEST_PG")});
    return run_without_server(cases, more);
  }
  Finished run_without_server(const std::string& cases, const std::vector<std::string>& more = {},
                              std::map<std::string, std::string> environment = {}) {
    write_file(folder / "test.yaml", cases);
    std::vector<std::string> words{daemon_program(), "--config", folder / "inboxd.yaml", "test", folder / "test.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return run_to_end({.arguments = words, .environment = std::move(environment)});
  }

  TempFolder folder;
};

}  // namespace inboxd::support
