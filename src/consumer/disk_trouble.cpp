#include "consumer/disk_trouble.hpp"

#include <chrono>

#include "base/mutex.hpp"

namespace inboxd::consumer {
namespace {

event::Microseconds clock_time() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void DiskTrouble::note(const std::string& error) {
  const base::Lock lock{mutex_};
  if (!trouble_) trouble_ = Since{clock_time(), {}};
  trouble_->error = error;
}

void DiskTrouble::clear() {
  const base::Lock lock{mutex_};
  trouble_.reset();
}

std::optional<DiskTrouble::Since> DiskTrouble::now() const {
  const base::Lock lock{mutex_};
  return trouble_;
}

}  // namespace inboxd::consumer
