#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/settings.hpp"
#include "dispatcher/in_flight.hpp"
#include "envelope/order_key.hpp"
#include "inbox/sequence.hpp"

namespace inboxd::dispatcher {

/// The settings that determine the order of a handler's events. A value.
struct InFlight::Order {
  envelope::OrderKeyRule rule;
  config::OnFailure on_failure = config::OnFailure::block;
  bool is_of_whole_handler = false;
  std::optional<config::Batch> batch{};
  std::string text{};
  bool counts_unkeyed = false;  ///< the configuration does not say how events without the order key run
  bool operator==(const Order&) const = default;

  std::int32_t sequence_of(std::int32_t shard_id) const {
    return is_of_whole_handler ? inbox::whole_handler : shard_id;
  }
};

}  // namespace inboxd::dispatcher
