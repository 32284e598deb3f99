#pragma once
#include <mutex>
#include <string>

#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// What a client says by itself (the library's threads do, whenever they like), instead of on stderr: kept for the one
/// who asked it something. Outlives the client.
class Words final {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  /// Before the client is made.
  void listen(rd_kafka_conf_t* conf);
  /// The last warning or error, without the library's names of its threads; empty where there was none.
  std::string last_complaint() const;

 private:
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);

  mutable std::mutex mutex_;
  std::string last_complaint_;
};

}  // namespace inboxd::kafka
