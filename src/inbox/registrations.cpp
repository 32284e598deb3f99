#include "inbox/registrations.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::inbox {

std::vector<Registered> Registrations::get() const {
  const std::lock_guard lock{mutex_};
  return registered_;
}

void Registrations::set(std::vector<Registered> registered) {
  const std::lock_guard lock{mutex_};
  registered_ = std::move(registered);
}

void Registrations::replace(const std::vector<Registered>& expected, std::vector<Registered> by) {
  const std::lock_guard lock{mutex_};
  if (registered_ == expected) registered_ = std::move(by);
}

std::int64_t Registrations::note_version(std::int64_t version) {
  const std::lock_guard lock{mutex_};
  newest_version_ = std::max(newest_version_, version);
  return newest_version_;
}

}  // namespace inboxd::inbox
