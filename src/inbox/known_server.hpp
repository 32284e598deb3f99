#pragma once
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "base/uuid.hpp"

namespace inboxd::inbox {

/// The server process that the connections of this process use, by the time of its start.
///
/// After a crash, a failover or a restore another server process answers. It may have lost commits: deliveries that
/// this process has settled are leased to it again. In a sequence, whose owner renews its lease for ever, they would
/// never run. So the first connections to another server process change the fences of this process's sequences before
/// they run anything else. Thread-safe.
class KnownServer final {
 public:
  /// The process whose sequences get another fence; without it none do. To be set before the first connection.
  void set_owner(const base::Uuid& owner);
  /// The owner, if the server was started at another time than the known server.
  std::optional<base::Uuid> owner_to_fence(const std::string& started_at) const;
  void know(const std::string& started_at);

 private:
  mutable base::Mutex mutex_;
  std::optional<base::Uuid> owner_ GUARDED_BY(mutex_);
  std::string started_at_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::inbox
