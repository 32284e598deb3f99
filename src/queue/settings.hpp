#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/settings.hpp"
#include "config/topics.hpp"
#include "envelope/order_key.hpp"
#include "inbox/sequence.hpp"
#include "plugin/instance.hpp"
#include "queue/sequences.hpp"
#include "settler/run.hpp"
#include "transaction/handler_transaction.hpp"

namespace inboxd::dispatcher {

/// The settings that determine the order of a handler's events. A value.
struct Order {
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

/// Sets the keys of a run of a sequence. `order`: null for a handler that keeps none.
void set_keys(settler::Run& run, const Order* order);

/// A handler's settings, as its events in flight need them. A value.
struct Settings {
  Settings(const config::Handler& handler, const plugin::Instance::Needs& of_plugin)
      : name{handler.name},
        policy{std::make_shared<const config::Policy>(config::policy_of(handler))},
        lease{handler.lease},
        max_crashes{handler.max_crashes},
        needs{of_plugin},
        events_per_call{handler.events_per_call},
        transaction_events{std::int64_t{handler.events_per_call} * handler.group} {
    if (handler.mode == config::Mode::single) return;
    const bool is_batch = handler.mode == config::Mode::batch;
    order = std::make_shared<const Order>(Order{envelope::OrderKeyRule{handler}, handler.on_failure,
                                                config::order_scope_of(handler) == config::OrderScope::handler,
                                                is_batch ? std::optional{handler.batch} : std::nullopt,
                                                config::order_text(handler), !is_batch && !handler.chose_order});
    scope = order->is_of_whole_handler ? Sequences::Scope::handler : Sequences::Scope::shard;
  }

  /// Neither keeps order, or both the same, of the same events in memory.
  bool has_same_order(const Settings& other) const {
    if (!order || !other.order) return !order && !other.order;
    return *order == *other.order && needs.no_payloads == other.needs.no_payloads;
  }
  /// Whether claims read payloads and headers.
  bool reads_payloads() const {
    return (order && order->rule.needs_content()) || !needs.no_payloads ||
           events_per_call <= transaction::max_events_sent;
  }

  std::string name;
  std::shared_ptr<const config::Policy> policy;
  std::chrono::milliseconds lease{0};
  std::int32_t max_crashes = 0;
  plugin::Instance::Needs needs;
  std::int64_t events_per_call = 1;
  std::int64_t transaction_events = 1;  ///< the most of a transaction: events_per_call * group
  std::shared_ptr<const Order> order;   ///< null: mode single
  Sequences::Scope scope = Sequences::Scope::none;
};

}  // namespace inboxd::dispatcher
