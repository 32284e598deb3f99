#pragma once
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// Whether a log line tells of a new connection that failed, as at a listener with another protocol or with logins:
/// it ends `(after 66ms in state UP)`. While no more than one request waits, the library calls it an information.
bool is_closed_at_once(std::string_view text);

/// Takes a client's log lines off stderr and keeps the last warning, or the line about a connection that was closed at
/// once: it usually explains a request that failed. The library logs on threads of its own. Outlives the client.
class ClientLog final {
 public:
  ClientLog() = default;
  ClientLog(const ClientLog&) = delete;
  ClientLog& operator=(const ClientLog&) = delete;

  /// Before the client is made. Asks the library for lines about connections that were closed.
  void attach(rd_kafka_conf_t* conf);
  /// The last warning or error, without the library's thread name; empty if there was none.
  std::string last_warning() const;
  /// Whether a line of this syslog level is kept.
  static bool explains(int level, std::string_view text);

 private:
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);

  mutable base::Mutex mutex_;
  std::string last_warning_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::kafka
