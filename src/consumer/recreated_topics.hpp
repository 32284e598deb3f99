#pragma once
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"

namespace inboxd::consumer {

/// The ids of topics as the client library reads them, and the topics whose id has changed under the same name. The
/// library says so only in its debug log, before it fetches anything of the new topic, so no record of the new topic is
/// read before the note. If a library words the line otherwise, only the periodic check of ids remains. Any thread.
class RecreatedTopics final {
 public:
  /// Turns the log lines on, before the client is made. True if the user's properties ask for debug lines, too.
  static bool enable(rd_kafka_conf_t* conf);

  /// Reads a line of the library's log.
  void read_line(std::string_view line);

  /// The id under which the client reads the topic; empty if it has not said.
  std::string id_of(const std::string& topic) const;

  /// Topics noted since the last call with the same `seen` (0 at first). Takes no lock if there are none.
  std::vector<std::string> since(std::size_t& seen) const;

 private:
  mutable base::Mutex mutex_;
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> ids_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace inboxd::consumer
