#pragma once
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::consumer {

/// Under which ids the client library reads topics, and of which it has just learnt that they are others under the old
/// name. It says so in its debug log alone, but before it fetches anything of the new topic: a record of the new one is
/// never read before the note. Where the library words it otherwise, the look at the topics' ids every few seconds is
/// left. Any thread.
class RecreatedTopics final {
 public:
  /// Makes the library say it, before the client is made; true where somebody else asked for debug lines, too.
  static bool prepare(rd_kafka_conf_t* conf);

  /// Looks whether a line of the library's log is about it.
  void read(std::string_view line);

  /// The id under which the client reads the topic; empty where it has not said.
  std::string id_of(const std::string& topic) const;

  /// Names noted since the last call with the same `seen` (0 at first). Cheap where there is nothing new.
  std::vector<std::string> since(std::size_t& seen) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> ids_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace inboxd::consumer
