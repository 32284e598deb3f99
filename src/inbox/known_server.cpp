#include "inbox/known_server.hpp"

#include "base/mutex.hpp"

namespace inboxd::inbox {

void KnownServer::set_owner(const base::Uuid& owner) {
  const base::Lock lock{mutex_};
  owner_ = owner;
}

std::optional<base::Uuid> KnownServer::owner_to_fence(const std::string& started_at) const {
  const base::Lock lock{mutex_};
  if (started_at_.empty() || started_at_ == started_at) return std::nullopt;
  return owner_;
}

void KnownServer::know(const std::string& started_at) {
  const base::Lock lock{mutex_};
  started_at_ = started_at;
}

}  // namespace inboxd::inbox
