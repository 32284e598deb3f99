#pragma once
#include <string>

#include "base/mutex.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// Takes a client's log lines off stderr and keeps the last warning, or the line about a connection that was closed at
/// once: it usually explains a request that failed. The library logs on threads of its own. Outlives the client.
class ClientLog final {
 public:
  ClientLog() = default;
  ClientLog(const ClientLog&) = delete;
  ClientLog& operator=(const ClientLog&) = delete;

  /// Before the client is made.
  void attach(rd_kafka_conf_t* conf);
  /// The last warning or error, without the library's thread name; empty if there was none.
  std::string last_warning() const;

 private:
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);

  mutable base::Mutex mutex_;
  std::string last_warning_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::kafka
