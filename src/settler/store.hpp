#pragma once
#include <memory>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/settle.hpp"
#include "inbox/watchdog.hpp"
#include "settler/answer.hpp"

namespace inboxd::settler {

/// Where the settler writes: the database, or a test's stand-in. One thread; blocks.
class Store {
 public:
  virtual ~Store() = default;
  /// All of it in one transaction; the answer names those whose lease was lost.
  virtual Answer<std::vector<inbox::LeaseKey>> settle(const std::vector<inbox::Settlement>& settlements) = 0;
};

/// The database, through a connection of its own.
std::unique_ptr<Store> database_store(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                                      base::Logger& log);

}  // namespace inboxd::settler
