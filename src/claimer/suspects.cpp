#include "claimer/suspects.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// The rest after an isolation, as a multiple of its duration: many suspects must not hold everything up in a row.
constexpr int rest = 10;

}  // namespace

// ---- isolation

void SuspectIsolation::begin(std::int32_t handler_id, const Handlers& handlers, Clock::time_point now) {
  handler_id_ = handler_id;
  had_its_turn_ = false;
  began_ = now;
  until_ = now + limits_.emptying;
  for (const auto& handler : handlers) handler->close(InFlight::Closed::isolation);
}

std::shared_ptr<InFlight> SuspectIsolation::turn(const Handlers& handlers, Clock::time_point now) {
  if (had_its_turn_) return nullptr;
  const auto has_any = [](const auto& handler) { return handler->lease().is_at_stake; };
  if (now < until_ && std::any_of(handlers.begin(), handlers.end(), has_any)) return nullptr;
  had_its_turn_ = true;
  until_ = now + limits_.running;
  const auto found = std::find_if(handlers.begin(), handlers.end(),
                                  [this](const auto& handler) { return handler->handler_id() == handler_id_; });
  if (found == handlers.end()) return nullptr;
  (*found)->reopen(InFlight::Closed::isolation);
  return *found;
}

void SuspectIsolation::review(const Handlers& handlers, bool is_in_flight, Clock::time_point now) {
  if (!had_its_turn_ || (is_in_flight && now < until_)) return;
  for (const auto& handler : handlers) handler->reopen(InFlight::Closed::isolation);
  handler_id_ = 0;
  rest_until_ = now + rest * (now - began_);
}

SuspectIsolation::Clock::time_point SuspectIsolation::next_look(Clock::time_point now) const {
  return is_on() ? now + limits_.look : Clock::time_point::max();
}

// ---- claims

void Suspects::take_turns(Handlers& handlers) {
  if (!takes_suspects_) return;
  for (const auto& handler : handlers) {
    if (passed_.erase(handler->handler_id()) > 0) handler->lock()->claim_again(InFlight::Clock::now());
  }
  const auto next = std::find_if(handlers.begin(), handlers.end(),
                                 [this](const auto& handler) { return handler->handler_id() > last_suspect_of_; });
  std::rotate(handlers.begin(), next, handlers.end());
}

void Suspects::limit(Request& request, Clock::time_point now) {
  if (auto* const claim = std::get_if<Claim>(&request)) limit_claim(claim->request, claim->max_crashes, now);
  if (auto* const claim = std::get_if<ClaimInOrder>(&request)) {
    limit_claim(claim->request.claim, claim->max_crashes, now);
  }
}

void Suspects::limit_claim(inbox::ClaimRequest& request, std::int32_t max_crashes, Clock::time_point now) {
  // Only the claimer's thread adds suspects, so the count cannot rise between here and the claim.
  if (!takes_suspects_ || any_in_flight()) {
    passed_.insert(request.handler_id);
    request.claims_to = inbox::suspected_after - 1;
  } else {
    passed_.erase(request.handler_id);
  }
  if (isolation_.is_on()) {
    request.claims_from = last_chances_after(max_crashes);
  } else if (isolation_.is_resting(now)) {
    request.claims_to = std::min(request.claims_to, last_chances_after(max_crashes) - 1);
  }
}

std::int32_t Suspects::last_chances_after(std::int32_t max_crashes) const {
  return std::max(max_crashes - last_chances_, inbox::suspected_after);
}

void Suspects::take_out(InFlight& handler, const Request& request, Answer& answer, const ListHandlers& all) {
  if (const auto* const claim = std::get_if<Claim>(&request)) {
    auto& result = std::get<Claim::Result>(answer);
    for (const auto& run : result.claimed.runs) result.found_crashed = result.found_crashed || run.claims > 1;
    take_out(handler, claim->max_crashes, result.claimed, all);
  } else if (const auto* const in_order = std::get_if<ClaimInOrder>(&request)) {
    take_out(handler, in_order->max_crashes, std::get<inbox::ClaimedInOrder>(answer).claimed, all);
  }
}

void Suspects::take_out(InFlight& handler, std::int32_t max_crashes, inbox::Claimed& claimed,
                        const ListHandlers& all) {
  std::vector<inbox::LeasedRun>& runs = claimed.runs;
  if (std::any_of(runs.begin(), runs.end(), inbox::is_suspect)) last_suspect_of_ = handler.handler_id();
  take_out_crashed(handler, max_crashes, runs);
  if (isolation_.is_on()) return;
  const auto has_few = [&](const inbox::LeasedRun& run) { return run.claims > last_chances_after(max_crashes); };
  std::size_t events = 0;
  std::int32_t crashes = 0;
  for (const auto& run : runs) {
    if (!has_few(run)) continue;
    claimed.excess.push_back(run.key);
    events += run.events.size();
    crashes = run.claims - 1;
  }
  if (events == 0) return;
  std::erase_if(runs, has_few);
  log_.warn("dispatcher.suspect_isolated",
            {{"handler", handler.handler()}, {"events", events}, {"crashes", crashes}});
  isolation_.begin(handler.handler_id(), all(), Clock::now());
}

void Suspects::take_out_crashed(InFlight& handler, std::int32_t max_crashes,
                                std::vector<inbox::LeasedRun>& runs) {
  std::vector<inbox::LeasedRun> kept;
  kept.reserve(runs.size());
  for (inbox::LeasedRun& lease : runs) {
    if (lease.was_alone && lease.claims > max_crashes) {
      report_crashed(handler, max_crashes, std::move(lease));
    } else {
      kept.push_back(std::move(lease));
    }
  }
  runs = std::move(kept);
}

/// An event that was in flight at every crash, and alone at the last, is dead before it ends this process too.
void Suspects::report_crashed(InFlight& handler, std::int32_t max_crashes, inbox::LeasedRun lease) {
  const std::int32_t claims = lease.claims;
  const auto run = handler.make_run(std::move(lease));
  const event::Event& event = *run->lease.events.front();
  log_.error("dispatcher.event_crashed", {{"event_id", event.event_id.text()},
                                          {"handler", run->handler},
                                          {"topic", run->lease.place->topic},
                                          {"partition", run->lease.place->partition},
                                          {"offset", event.offset},
                                          {"crashes", claims - 1},
                                          {"max_crashes", max_crashes}});
  const event::Verdict verdict{
      event::Verdict::Kind::dead, std::nullopt, "crashed",
      "in flight at " + std::to_string(claims - 1) +
          " crashes, alone at the last of them (handlers[].max_crashes: " + std::to_string(max_crashes) + ")"};
  std::vector<settler::Report> reports;
  reports.push_back({run, 0, 1, {{0, verdict, std::chrono::milliseconds{0}}}});
  settler_.report(std::move(reports));
}

}  // namespace inboxd::dispatcher
