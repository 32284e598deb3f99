#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "inbox/handlers.hpp"

namespace inboxd::inbox {

/// What this process knows of handlers, should the database forget it: as what it has registered its own, and the
/// newest routing that it has seen. Any thread.
class Registrations final {
 public:
  std::vector<Registered> get() const;
  void set(std::vector<Registered> registered);
  /// Not where they are others than expected by now.
  void replace(const std::vector<Registered>& expected, std::vector<Registered> by);
  /// Notes that the database has said this version; returns the newest one that it ever did.
  std::int64_t note_version(std::int64_t version);

 private:
  mutable std::mutex mutex_;  // guards the following
  std::vector<Registered> registered_;
  std::int64_t newest_version_ = 0;
};

}  // namespace inboxd::inbox
