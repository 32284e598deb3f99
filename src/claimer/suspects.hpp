#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/logger.hpp"
#include "inbox/claim.hpp"
#include "queue/claimer_signals.hpp"
#include "queue/in_flight.hpp"
#include "queue/requests.hpp"
#include "settler/settler.hpp"

/// Suspects: deliveries that were in flight at several crashes (inbox::is_suspect). A crash is charged to every
/// delivery in flight, so innocent deliveries must not be in flight together with the culprit. The claimer's thread.
namespace inboxd::dispatcher {

using Handlers = std::vector<std::shared_ptr<InFlight>>;
/// Lists all handlers, retired handlers included: they may have leases to release.
using ListHandlers = std::function<Handlers()>;

/// Runs a suspect with few chances left alone in this process, so that no other event's crash is charged to it:
///
///   off --begin--> emptying --turn--> running --review--> resting --10 times as long--> off
///
/// `emptying`: all handlers are closed and the running calls end. `running`: the suspect's handler alone is open. Both
/// are limited in time: neither a slow call nor a slow suspect may hold up all handlers. While `resting`, no other
/// suspect with few chances is claimed.
class SuspectIsolation final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::chrono::milliseconds emptying{10'000};
    std::chrono::milliseconds running{10'000};
    std::chrono::milliseconds look{10};  ///< between two looks at the progress
  };

  explicit SuspectIsolation(Limits limits) : limits_{limits} {}

  /// Emptying or running.
  bool is_on() const { return handler_id_ != 0; }
  bool is_resting(Clock::time_point now) const { return now < rest_until_; }
  void begin(std::int32_t handler_id, const Handlers& handlers, Clock::time_point now);
  /// Once, when it is time: the handler that may claim its suspect.
  std::shared_ptr<InFlight> turn(const Handlers& handlers, Clock::time_point now);
  /// Ends the isolation once the suspect is no longer in flight, was not found, or takes too long.
  void review(const Handlers& handlers, bool is_in_flight, Clock::time_point now);
  Clock::time_point next_look(Clock::time_point now) const;

 private:
  const Limits limits_;
  std::int32_t handler_id_ = 0;
  bool had_its_turn_ = false;
  Clock::time_point until_{};
  Clock::time_point began_{};
  Clock::time_point rest_until_{};
};

/// The rules for suspects in claims: of all handlers, a single suspect is in flight at a time; the last chances in
/// isolation; then dead.
class Suspects final {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::int32_t last_chances = 3;  ///< of a handler's max_crashes, the number that a suspect gets in isolation
    SuspectIsolation::Limits isolation;
  };

  Suspects(std::shared_ptr<ClaimerSignals> signals, settler::Settler& settler, base::Logger& log, Limits limits)
      : signals_{std::move(signals)},
        settler_{settler},
        log_{log},
        last_chances_{limits.last_chances},
        isolation_{limits.isolation} {}

  SuspectIsolation& isolation() { return isolation_; }
  const SuspectIsolation& isolation() const { return isolation_; }
  bool any_in_flight() const { return signals_->suspects > 0; }

  /// Begins a round of claims of all handlers.
  void begin_round() { takes_suspects_ = !any_in_flight(); }
  /// If a suspect may be claimed: handlers that had to pass over theirs claim again, and the handlers take turns.
  void take_turns(Handlers& handlers);
  /// Limits a claim to the deliveries that it may take now. Other questions stay as they are.
  void limit(Request& request, Clock::time_point now);
  /// Removes from the claimed runs of an answer the events that used up their chances (dead now) and the runs that must
  /// wait for isolation: these are excess, to be released uncharged.
  void take_out(InFlight& handler, const Request& request, Answer& answer, const ListHandlers& all);

 private:
  void limit_claim(inbox::ClaimRequest& request, std::int32_t max_crashes, Clock::time_point now);
  void take_out(InFlight& handler, std::int32_t max_crashes, inbox::Claimed& claimed, const ListHandlers& all);
  std::int32_t last_chances_after(std::int32_t max_crashes) const;
  void report_crashed(InFlight& handler, std::int32_t max_crashes, inbox::LeasedRun lease);
  void take_out_crashed(InFlight& handler, std::int32_t max_crashes, std::vector<inbox::LeasedRun>& runs);

  const std::shared_ptr<ClaimerSignals> signals_;
  settler::Settler& settler_;
  base::Logger& log_;
  const std::int32_t last_chances_;
  SuspectIsolation isolation_;
  bool takes_suspects_ = true;        ///< none was in flight when the round began
  std::set<std::int32_t> passed_;     ///< handlers that passed over suspects in their last claim
  std::int32_t last_suspect_of_ = 0;  ///< the handler
};

}  // namespace inboxd::dispatcher
