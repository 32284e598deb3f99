#pragma once
#include <cstdint>
#include <memory>
#include <string>

struct pg_conn;

namespace inboxd::support {

/// A standby as a primary sees it, in a replication slot of its own that outlives it; it replays nothing.
class Standby final {
 public:
  /// Makes the slot and begins to stream. Throws std::runtime_error with the server's words.
  Standby(const std::string& url, const std::string& slot);

  /// Says, as hot_standby_feedback does, that it has a snapshot as old as this transaction.
  void needs(std::uint32_t xmin);

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  void run(const std::string& command, int wanted);

  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace inboxd::support
