#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/backoff.hpp"
#include "base/logger.hpp"
#include "inbox/connection.hpp"
#include "inbox/registrations.hpp"
#include "maintenance/turn.hpp"

namespace inboxd::maintenance {

/// The handlers of this process, as the feeder sees them. Any thread.
struct FedHandlers {
  /// The number of events that a handler ends in about this time.
  std::function<std::int64_t(std::int32_t handler_id, std::chrono::milliseconds time)> events_in;
  /// It has deliveries to claim.
  std::function<void(std::int32_t handler_id)> notify;
};

/// Feeds handlers from `handlers backfill`, bite by bite: the next bite follows once the handler has nearly ended the
/// last. Runs on the maintenance thread.
class Feeder final {
 public:
  Feeder(inbox::Registrations& registrations, inbox::Connection& connection, Turn& turn, FedHandlers handlers,
         base::Logger& log)
      : registrations_{registrations},
        connection_{connection},
        turn_{turn},
        handlers_{std::move(handlers)},
        log_{log} {}

  /// A turn of the task. Returns at once if no handler has a request.
  void feed();
  /// Notifies handlers to which a command has added deliveries since the last call.
  void notice_added();

 private:
  inbox::Registrations& registrations_;
  inbox::Connection& connection_;
  Turn& turn_;
  const FedHandlers handlers_;
  base::Logger& log_;
  std::optional<std::map<std::int32_t, std::int64_t>> fed_at_;  ///< by handler; nullopt: not read yet
  /// Between two questions whether a handler has ended its bite: it may be paused for days.
  static constexpr std::chrono::milliseconds max_pause{128};
  base::Backoff pause_{std::chrono::milliseconds{1}, max_pause};
};

}  // namespace inboxd::maintenance
