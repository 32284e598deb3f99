#pragma once
#include <chrono>

#include "event/record.hpp"

namespace inboxd::event {

/// The wall clock of this machine, which may differ from the database's.
inline Microseconds now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

}  // namespace inboxd::event
