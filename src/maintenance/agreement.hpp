#pragma once
#include <cstdint>
#include <map>
#include <set>

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "inbox/registrations.hpp"

namespace inboxd::maintenance {

/// Compares this process's handlers with the database: reports handlers that a newer registration of another instance
/// has changed, puts rows right that contradict the order of their handler, and reports a living process of the same
/// kafka.instance_id. The maintenance thread.
class Agreement final {
 public:
  Agreement(const inbox::Registrations& registrations, const base::Uuid& instance_id, inbox::Connection& connection,
            base::Logger& log)
      : registrations_{registrations}, instance_id_{instance_id}, connection_{connection}, log_{log} {}

  /// `versions`: of all handlers in the database. Each change is reported once.
  void compare(const inbox::HandlerVersions& versions);
  void repair_order();
  /// Reports a process of the same kafka.instance_id that lives, although this process has ended its leases; once each.
  void check_predecessors();

 private:
  const inbox::Registrations& registrations_;
  const base::Uuid instance_id_;
  inbox::Connection& connection_;
  base::Logger& log_;
  std::map<std::int32_t, std::int64_t> reported_;  ///< by handler: the version of its last change
  std::set<base::Uuid> living_;                    ///< reported predecessors
};

}  // namespace inboxd::maintenance
