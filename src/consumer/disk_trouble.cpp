#include "consumer/disk_trouble.hpp"

#include <chrono>

namespace inboxd::consumer {
namespace {

event::Microseconds clock_time() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void DiskTrouble::note(const std::string& error) {
  const std::lock_guard lock{mutex_};
  if (!trouble_) trouble_ = Since{clock_time(), {}};
  trouble_->error = error;
}

void DiskTrouble::clear() {
  const std::lock_guard lock{mutex_};
  trouble_.reset();
}

std::optional<DiskTrouble::Since> DiskTrouble::now() const {
  const std::lock_guard lock{mutex_};
  return trouble_;
}

}  // namespace inboxd::consumer
