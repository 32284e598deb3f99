#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace inboxd::support {

/// A record as a consumer sees it.
struct ReadRecord {
  int partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> payload;  ///< nullopt: a tombstone
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;

  /// The last header of that name; empty: none.
  std::string header(const std::string& name) const;
};

/// All records of a topic up to its present ends, partition by partition in log order.
std::vector<ReadRecord> read_topic(const std::string& brokers, const std::string& topic,
                                   const std::map<int, std::int64_t>& ends);

}  // namespace inboxd::support
