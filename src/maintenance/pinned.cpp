#include "maintenance/pinned.hpp"

#include <algorithm>

namespace inboxd::maintenance {

std::chrono::seconds Pinned::look(const std::optional<inbox::OldestTransaction>& oldest, Clock::time_point now) {
  if (!oldest) {
    id_.clear();
    return std::chrono::seconds{0};
  }
  if (id_ != oldest->id) {
    id_ = oldest->id;
    since_ = now;
  }
  return std::max(oldest->age.value_or(std::chrono::seconds{0}),
                  std::chrono::duration_cast<std::chrono::seconds>(now - since_));
}

}  // namespace inboxd::maintenance
