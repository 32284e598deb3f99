#pragma once
#include <chrono>
#include <cstdint>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"

/// `rate` and `max_in_flight` of a handler, which hold over all instances.
namespace inboxd::inbox {

struct Tokens {
  std::int64_t granted = 0;
  std::chrono::milliseconds wait{0};  ///< until the next token
};

/// Up to `wanted` tokens of a handler that handles `per_second` events over all instances. Never more than were saved.
Tokens take_tokens(Connection& connection, std::int32_t handler_id, double per_second, std::int64_t wanted);

/// An instance's part of the parallel calls of a handler.
struct CallsRequest {
  int most = 0;    ///< over all instances
  int wanted = 0;  ///< that this instance could use
  int held = 0;    ///< that it makes or may make now
  std::chrono::milliseconds lease{0};
};

/// The calls that process `owner` may make until `lease` has passed since the question. If it holds more calls, it must
/// make no further calls, and report once it holds fewer.
int share_calls(Connection& connection, const base::Uuid& owner, std::int32_t handler_id, const CallsRequest& request);

}  // namespace inboxd::inbox
