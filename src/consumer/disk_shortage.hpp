#pragma once
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "event/record.hpp"

namespace inboxd::consumer {

/// Whether the database has no space to store records. Any thread.
class DiskShortage final {
 public:
  struct Since {
    event::Microseconds since = 0;  ///< by this machine's clock
    std::string error;              ///< the last error
  };
  void note(const std::string& error);
  void clear();
  std::optional<Since> now() const;

 private:
  mutable base::Mutex mutex_;
  std::optional<Since> shortage_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::consumer
