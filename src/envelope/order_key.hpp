#pragma once
#include <cstdint>
#include <string>

#include "base/arena.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"

namespace inboxd::envelope {

/// The hash of an order key, by which events are kept in order: two keys with equal hashes only wait for each other.
/// Equal on every machine and in every version, because lanes keep it. no_order_key: the event runs in no order.
using KeyHash = std::int64_t;
constexpr KeyHash no_order_key = 0;

/// Finds the order key in an event (`handlers[].order_by`, `missing_key`). A value. Any thread.
class OrderKeyRule {
 public:
  OrderKeyRule() = default;
  explicit OrderKeyRule(const config::Handler& handler)
      : place_{handler.order_by}, missing_key_{handler.missing_key} {}

  /// Whether the key is in the headers or the payload.
  bool needs_content() const { return place_ != "key" && place_ != "subject"; }
  /// The key; null if the event has none. Its bytes are the event's or the arena's. `unwrap`: of the event's topic.
  event::MaybeBytes find(const event::Event& event, base::Arena& arena, config::Unwrap unwrap) const;
  KeyHash hash(const event::Event& event, base::Arena& arena, config::Unwrap unwrap) const;

  bool operator==(const OrderKeyRule&) const = default;

 private:
  std::string place_ = "key";
  config::MissingKey missing_key_ = config::MissingKey::unordered;
};

}  // namespace inboxd::envelope
