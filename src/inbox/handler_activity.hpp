#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inboxd::inbox {

/// What an instance knows about a handler and the database does not: sent with its heartbeat, for `status`. Times are
/// ages, as clocks may differ. No content of events: role monitor reads it, and `events forget` does not erase it.
struct HandlerActivity {
  using Age = std::chrono::milliseconds;

  std::int32_t handler_id = 0;
  std::int64_t running_calls = 0;
  std::int64_t concurrency = 0;   ///< calls that may run at once
  std::int64_t in_memory = 0;     ///< events
  std::int64_t blocked_keys = 0;  ///< of the sequences that it owns
  bool limited = false;           ///< events wait for `rate` or `max_in_flight`
  Age span{0};                    ///< the time that the next four cover
  std::int64_t done = 0;
  std::int64_t failed = 0;      ///< attempts that were retried or dead-lettered
  double call_seconds = 0;      ///< mean duration of a call; 0: none ended
  std::int64_t grown = 0;       ///< how much its pending events have grown, over all instances
  std::int64_t failed_in_row = 0;  ///< attempts since the last success
  std::optional<Age> failing_for;  ///< since the first of these
  std::string last_error_class;    ///< of the last failure
  std::string last_failed_event;   ///< its event id
  std::optional<Age> away_for;     ///< its service is away
  std::string away_error;          ///< class, host and error
  std::int64_t unkeyed = 0;  ///< events without an order key, where the configuration does not say how these run
  std::int64_t without_value = 0;  ///< events in a row whose body has a value at none of the paths of its statement
  std::string body_paths;          ///< these paths

  bool operator==(const HandlerActivity&) const = default;
};

/// A JSON array for PostgreSQL.
std::string json_of(const std::vector<HandlerActivity>& activity);

}  // namespace inboxd::inbox
