#include "inbox/registrations.hpp"

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::inbox {

bool knows(const HandlerVersions& database, const HandlerVersions& versions) {
  return std::all_of(versions.begin(), versions.end(), [&](const auto& one) {
    const auto found = database.find(one.first);
    return found != database.end() && found->second >= one.second;
  });
}

std::vector<Registered> Registrations::get() const {
  const base::Lock lock{mutex_};
  return registered_;
}

HandlerVersions Registrations::versions() const {
  const base::Lock lock{mutex_};
  HandlerVersions out;
  for (const Registered& registered : registered_) out[registered.handler_id] = registered.changed_under;
  return out;
}

std::set<std::int32_t> Registrations::retired() const {
  const base::Lock lock{mutex_};
  return retired_;
}

void Registrations::set(std::vector<Registered> registered, std::set<std::int32_t> retired) {
  const base::Lock lock{mutex_};
  registered_ = std::move(registered);
  retired_ = std::move(retired);
  ++revision_;
}

void Registrations::replace(const std::vector<Registered>& expected, std::vector<Registered> by) {
  const base::Lock lock{mutex_};
  if (registered_ != expected) return;
  registered_ = std::move(by);
  ++revision_;
}

std::uint64_t Registrations::revision() const {
  const base::Lock lock{mutex_};
  return revision_;
}

HandlerVersions Registrations::newest() const {
  const base::Lock lock{mutex_};
  return newest_;
}

void Registrations::note(const HandlerVersions& versions) {
  const base::Lock lock{mutex_};
  for (const auto& [handler_id, version] : versions) {
    const auto [known, is_new] = newest_.try_emplace(handler_id, version);
    if (!is_new && known->second >= version) continue;
    known->second = version;
    ++revision_;
  }
}

void Registrations::accept(const HandlerVersions& versions) {
  const base::Lock lock{mutex_};
  newest_ = versions;
}

}  // namespace inboxd::inbox
