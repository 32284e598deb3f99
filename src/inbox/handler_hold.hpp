#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"

/// Pauses of handlers that hold for all instances.
namespace inboxd::inbox {

struct HandlerHold {
  /// trial: its fuse has blown, and this process tries a single event.
  enum class State { open, held, trial };
  std::int32_t handler_id = 0;
  State state = State::open;
};

/// For process `owner`. A trial belongs to the first process that asks and may try the handler, as long as it asks
/// again within `trial`. Waits for no lock.
std::vector<HandlerHold> read_holds(Connection& connection, const base::Uuid& owner,
                                    const std::vector<std::int32_t>& handlers,
                                    const std::vector<std::int32_t>& may_try, std::chrono::milliseconds trial);

/// A handler's news for the database.
struct HoldNews {
  /// paused: by an error that the handler's rules name. blown: its fuse. closed: the event that it tried is done.
  enum class Kind { paused, blown, closed };
  Kind kind = Kind::paused;
  std::string reason{};
  bool operator==(const HoldNews&) const = default;
};

/// Changes the handler's pause for all instances, with a record in audit. Repeating it is harmless.
void write_hold(Connection& connection, const base::Uuid& owner, std::int32_t handler_id, const HoldNews& news);

}  // namespace inboxd::inbox
