#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "event/record.hpp"

namespace inboxd::consumer {

/// Whether the database has no space to store records. Any thread.
class DiskTrouble final {
 public:
  struct Since {
    event::Microseconds since = 0;  ///< by this machine's clock
    std::string error;              ///< the last one
  };
  void note(const std::string& error);
  void clear();
  std::optional<Since> now() const;

 private:
  mutable std::mutex mutex_;  // guards the following
  std::optional<Since> trouble_;
};

}  // namespace inboxd::consumer
