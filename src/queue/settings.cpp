#include "queue/settings.hpp"

#include "base/arena.hpp"

namespace inboxd::dispatcher {

void set_keys(settler::Run& run, const Order* order) {
  if (order == nullptr || order->batch) {
    run.keys.assign(run.size(), envelope::no_order_key);
    return;
  }
  run.key_rule = order->rule;
  run.on_failure = order->on_failure;
  run.keys.reserve(run.size());
  base::Arena arena{4096};
  const config::Unwrap unwrap = settler::unwrap_of(run);
  for (const event::Event* event : run.lease.events) {
    // The events of a lane share its key, also if the rule has changed since.
    run.keys.push_back(run.lease.lane ? *run.lease.lane : order->rule.hash(*event, arena, unwrap));
  }
}

}  // namespace inboxd::dispatcher
