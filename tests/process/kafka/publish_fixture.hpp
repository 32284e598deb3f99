#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"
#include "support/topic_reader.hpp"

namespace inboxd::support {

/// A daemon with the handler `kafka`, which writes to topic `target`.
struct PublishFixture : DaemonFixture {
  explicit PublishFixture(int partitions = 1) : DaemonFixture{partitions}, target{kafka.create_topic(partitions)} {
    auto& handler = config.handlers[0];
    handler.plugin = "kafka";
    handler.settings = {{"topic", target}};
    handler.more = {"retry: {max_attempts: 3, backoff: fixed, base: 50ms}"};
  }

  std::vector<ReadRecord> written() { return written(target); }
  std::vector<ReadRecord> written(const std::string& from) {
    return read_topic(kafka.brokers(), from, kafka.ends(from));
  }
  std::string failure() { return database.text("select error_class || ': ' || message from inbox.failures limit 1"); }

  /// Records of a key that left the order of their events, judged by the first and by the last record of each event.
  static std::string out_of_order(const std::vector<ReadRecord>& records, bool only_last = false) {
    std::string out;
    std::map<std::string, std::vector<ReadRecord>> by_key;
    for (const ReadRecord& record : records) by_key[record.key.value_or("")].push_back(record);
    for (auto& [key, all] : by_key) {
      if (!only_last && !is_in_order(firsts(all))) out += "first records of key " + key + "; ";
      std::reverse(all.begin(), all.end());
      auto lasts = firsts(all);
      std::reverse(lasts.begin(), lasts.end());
      if (!is_in_order(lasts)) out += "last records of key " + key + "; ";
    }
    return out;
  }

  std::string target;

 private:
  /// Positions of events, each once.
  static std::vector<std::pair<int, std::int64_t>> firsts(const std::vector<ReadRecord>& records) {
    std::vector<std::pair<int, std::int64_t>> out;
    for (const ReadRecord& record : records) {
      const std::pair<int, std::int64_t> place{std::stoi(record.header("inboxd-partition")),
                                               std::stoll(record.header("inboxd-offset"))};
      if (std::find(out.begin(), out.end(), place) == out.end()) out.push_back(place);
    }
    return out;
  }
  static bool is_in_order(const std::vector<std::pair<int, std::int64_t>>& places) {
    return std::is_sorted(places.begin(), places.end());
  }
};

}  // namespace inboxd::support
