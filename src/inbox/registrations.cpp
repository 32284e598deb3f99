#include "inbox/registrations.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::inbox {

bool knows(const HandlerVersions& database, const HandlerVersions& versions) {
  return std::all_of(versions.begin(), versions.end(), [&](const auto& one) {
    const auto found = database.find(one.first);
    return found != database.end() && found->second >= one.second;
  });
}

std::vector<Registered> Registrations::get() const {
  const std::lock_guard lock{mutex_};
  return registered_;
}

HandlerVersions Registrations::versions() const {
  const std::lock_guard lock{mutex_};
  HandlerVersions out;
  for (const Registered& registered : registered_) out[registered.handler_id] = registered.changed_under;
  return out;
}

void Registrations::set(std::vector<Registered> registered) {
  const std::lock_guard lock{mutex_};
  registered_ = std::move(registered);
}

void Registrations::replace(const std::vector<Registered>& expected, std::vector<Registered> by) {
  const std::lock_guard lock{mutex_};
  if (registered_ == expected) registered_ = std::move(by);
}

HandlerVersions Registrations::newest() const {
  const std::lock_guard lock{mutex_};
  return newest_;
}

void Registrations::note(const HandlerVersions& versions) {
  const std::lock_guard lock{mutex_};
  for (const auto& [handler_id, version] : versions) {
    auto& newest = newest_[handler_id];
    newest = std::max(newest, version);
  }
}

void Registrations::accept(const HandlerVersions& versions) {
  const std::lock_guard lock{mutex_};
  newest_ = versions;
}

}  // namespace inboxd::inbox
