#include "maintenance/feeder.hpp"

#include <algorithm>
#include <vector>

#include "inbox/upkeep.hpp"

namespace inboxd::maintenance {
namespace {

using std::chrono::milliseconds;

/// A live event waits for at most two bites.
constexpr milliseconds bite_time{5};
constexpr std::int64_t largest_bite = 2'048;

}  // namespace

void Feeder::feed() {
  using State = inbox::Fed::State;
  std::vector<std::int32_t> handlers;
  for (const auto& registered : registrations_.get()) handlers.push_back(registered.handler_id);
  do {
    const auto began = Turn::Clock::now();
    std::vector<std::int32_t> bites;
    for (const std::int32_t id : handlers) {
      bites.push_back(static_cast<std::int32_t>(std::min(handlers_.events_in(id, bite_time), largest_bite)));
    }
    const inbox::Fed fed = inbox::feed_backfill(connection_, handlers, bites);
    if (fed.state == State::none) return;
    if (fed.state == State::waits) {
      turn_.rest(std::clamp(fed.wait, pause_.next(), max_pause));
      continue;
    }
    pause_.reset();
    if (fed.state == State::ended) log_.info("maintenance.backfill_ended", {{"handler_id", *fed.handler_id}});
    if (fed.events > 0) handlers_.notify(*fed.handler_id);
    // Passing events over could take all of the server's time.
    if (fed.events == 0) turn_.rest(Turn::Clock::now() - began);
  } while (turn_.should_continue());
}

void Feeder::notice_added() {
  std::vector<std::int32_t> handlers;
  for (const auto& registered : registrations_.get()) handlers.push_back(registered.handler_id);
  auto fed_at = inbox::handlers_fed(connection_, handlers);
  if (fed_at_) {
    for (const auto& [handler_id, at] : fed_at) {
      const auto before = fed_at_->find(handler_id);
      if (before == fed_at_->end() || before->second != at) handlers_.notify(handler_id);
    }
  }
  fed_at_ = std::move(fed_at);
}

}  // namespace inboxd::maintenance
