#include "consumer/disk_shortage.hpp"

#include <chrono>

#include "base/mutex.hpp"

namespace inboxd::consumer {
namespace {

event::Microseconds clock_time() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void DiskShortage::note(const std::string& error) {
  const base::Lock lock{mutex_};
  if (!shortage_) shortage_ = Since{clock_time(), {}};
  shortage_->error = error;
}

void DiskShortage::clear() {
  const base::Lock lock{mutex_};
  shortage_.reset();
}

std::optional<DiskShortage::Since> DiskShortage::now() const {
  const base::Lock lock{mutex_};
  return shortage_;
}

}  // namespace inboxd::consumer
