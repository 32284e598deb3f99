#pragma once
#include <string>

#include "config/topics.hpp"
#include "config/tree.hpp"
#include "testing/tree_reader.hpp"

namespace inboxd::testing {

/// Reads the sample records of a file of tests, and the expectations of each.
class SampleReader final {
 public:
  explicit SampleReader(TreeReader& tree) : tree_{tree}, topics_{tree.settings().topics} {}

  SampleRecord record(const config::Node& node, const std::string& key);

 private:
  OwnBytes value(const config::Node& record, const std::string& key);
  void check_topic(const config::Node& node, const std::string& key, const std::string& name);
  /// Reports the parts that a record of this topic cannot have.
  void check_parts(const config::Node& node, const std::string& key, const config::Topic& topic);
  std::optional<std::string> optional_id(const config::Node& node, const std::string& key);
  ExpectedRecord expected_record(const config::Node& node, const std::string& key);
  ExpectedOutcome expected_outcome(const config::Node& node, const std::string& key);

  TreeReader& tree_;
  const config::Topics topics_;
};

}  // namespace inboxd::testing
