#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/claim.hpp"
#include "inbox/watchdog.hpp"
#include "settler/answer.hpp"

namespace inboxd::dispatcher {

/// Where the claimer takes deliveries from: the database, or a test's stand-in. One thread; blocks. The owner is filled
/// in.
class Deliveries {
 public:
  template <class T>
  using Answer = settler::Answer<T>;

  virtual ~Deliveries() = default;
  virtual Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) = 0;
  virtual Answer<inbox::DueReading> read_due(std::int32_t handler_id, std::optional<event::Microseconds> from,
                                             bool asks_writers) = 0;
  virtual Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds lease) = 0;
  virtual Answer<std::int64_t> give_back(const std::vector<inbox::LeaseKey>& keys) = 0;
  virtual Answer<std::int64_t> give_back_claims(std::int32_t handler_id, const std::vector<std::int64_t>& fences,
                                                std::chrono::milliseconds since) = 0;
  virtual Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) = 0;
  /// The longest that all statements from now on may take together; nullopt: each as configured. Never more than that.
  virtual void limit_statements(std::optional<std::chrono::milliseconds> longest) = 0;
  /// A new number means that what was remembered of the session is stale.
  virtual int generation() const = 0;
};

std::unique_ptr<Deliveries> database_deliveries(const config::Database& database, base::Uuid owner,
                                                inbox::Watchdog& watchdog, base::Logger& log);

}  // namespace inboxd::dispatcher
