#pragma once
#include <cstdint>
#include <memory>
#include <string>

struct pg_conn;

namespace inboxd::support {

/// A standby as a primary sees it: streams through its own replication slot, which outlives it, and replays nothing.
class FakeStandby final {
 public:
  /// Creates the slot and begins to stream.
  FakeStandby(const std::string& url, const std::string& slot);

  /// Reports, as hot_standby_feedback does, a snapshot as old as this transaction.
  void needs(std::uint32_t xmin);

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  void run(const std::string& command, int wanted);

  std::unique_ptr<pg_conn, Close> connection_;
};

}  // namespace inboxd::support
