// Claimer for pauses that hold for all instances: it records blown fuses in the database, and reads the pauses there.
#include <algorithm>

#include "dispatcher/claimer.hpp"

namespace inboxd::dispatcher {
namespace {

/// A pause is obeyed within two seconds.
constexpr std::chrono::milliseconds read_every{500};
/// After so long without a sign of the process that tries an event, another one tries.
constexpr std::chrono::seconds longest_trial{10};

}  // namespace

/// News that the database refuses does not hold up that of others.
bool Claimer::write_hold_news(const ClaimingHandlers& handlers) {
  bool all_written = true;
  for (const auto& handler : handlers) {
    const auto news = handler->hold_news();
    if (!news) continue;
    if (!worked(ask(WriteHold{handler->handler_id(), *news}))) {
      if (is_blocked()) return false;
      all_written = false;
      continue;
    }
    handler->hold_written(*news);
    if (news->kind == inbox::HoldNews::Kind::closed) {
      log_.info("dispatcher.fuse_closed", {{"handler", handler->handler()}});
    } else {
      log_.error("dispatcher.handler_paused", {{"handler", handler->handler()}, {"reason", news->reason}});
    }
  }
  return all_written;
}

bool Claimer::read_holds(const ClaimingHandlers& handlers) {
  if (Clock::now() < next_holds_) return true;
  next_holds_ = Clock::now() + read_every;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> may_try;
  for (const auto& handler : handlers) {
    ids.push_back(handler->handler_id());
    if (handler->may_try()) may_try.push_back(handler->handler_id());
  }
  if (ids.empty()) return true;
  const auto answer = ask(ReadHolds{ids, may_try, longest_trial});
  if (!worked(answer)) return false;
  for (const inbox::HandlerHold& hold : std::get<0>(answer)) {
    const auto handler = std::find_if(handlers.begin(), handlers.end(),
                                      [&](const auto& each) { return each->handler_id() == hold.handler_id; });
    if (handler != handlers.end()) (*handler)->set_hold(hold.state);
  }
  return true;
}

}  // namespace inboxd::dispatcher
