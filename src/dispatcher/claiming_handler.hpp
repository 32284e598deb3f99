#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wake_signal.hpp"
#include "dispatcher/ordered_handler.hpp"
#include "dispatcher/requests.hpp"
#include "event/database_clock.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// Signals from the handlers to the claimer. Any thread.
struct ClaimerSignals {
  base::WakeSignal wake;                  ///< a handler may claim, or has leases to release
  std::atomic<std::int64_t> suspects{0};  ///< suspect runs in flight, of all handlers (inbox::is_suspect)
  event::DatabaseClock clock;
};

struct TokensToTake {
  double per_second = 0;
  std::int64_t events = 0;
};

/// A handler as the claimer sees it; InFlight implements it. Called by the claimer's thread.
class ClaimingHandler {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~ClaimingHandler() = default;

  virtual std::int32_t handler_id() const = 0;
  virtual std::string handler() const = 0;  ///< its name

  /// False: paused, retired, stopped or isolated. The handler then claims nothing and releases its queued runs.
  virtual bool is_open() const = 0;
  /// Whether runs were added since the last call.
  virtual bool was_active() = 0;
  /// Closes the handler, or opens it again, while a suspect runs alone.
  virtual void set_isolated(bool isolated) = 0;

  // Pauses that hold for all instances (hold.hpp).

  virtual void set_hold(inbox::HandlerHold::State state) = 0;
  virtual std::optional<inbox::HoldNews> hold_news() const = 0;
  virtual void hold_written(const inbox::HoldNews& news) = 0;
  /// Nothing but such a pause keeps it from running here.
  virtual bool may_try() const = 0;

  // Limits that hold for all instances (limits.hpp). A handler without limits needs none of these.

  /// When to ask the database, unless the claimer is woken before.
  virtual Clock::time_point next_limits() const { return Clock::time_point::max(); }
  virtual std::optional<TokensToTake> tokens_to_take(Clock::time_point /*now*/) { return std::nullopt; }
  /// `asked`: when the database was asked; the answer counts from then.
  virtual void tokens_taken(const inbox::Tokens& /*tokens*/, Clock::time_point /*asked*/) {}
  virtual std::optional<inbox::CallsRequest> calls_to_share(Clock::time_point /*now*/) { return std::nullopt; }
  virtual void calls_shared(int /*calls*/, Clock::time_point /*asked*/) {}
  virtual std::optional<inbox::CallsRequest> calls_to_release() { return std::nullopt; }

  // One claim at a time.

  /// When to call `begin_claim`, unless the claimer is woken before.
  virtual Clock::time_point next_claim(Clock::time_point now) = 0;
  /// A claim, if it is time for one and there is room; the room stays reserved until `end_claim` or `claim_failed`.
  virtual std::optional<Claim> begin_claim(Clock::time_point now) = 0;
  /// `asked`: when the database was asked; the leases count from then. `more`: further deliveries may be due.
  virtual void end_claim(std::vector<inbox::LeasedRun> runs, Clock::time_point asked, bool more) = 0;
  virtual void claim_failed() = 0;
  /// The last claim passed over deliveries that it may take now.
  virtual void claim_again() = 0;
  /// A run for the settler that is never in flight.
  virtual std::shared_ptr<settler::Run> make_run(inbox::LeasedRun lease) = 0;

  // Leases.

  struct LeaseState {
    std::chrono::milliseconds length{0};  ///< as configured now
    bool is_at_stake = false;             ///< runs are in flight, which a late renewal would lose
  };
  virtual LeaseState lease() const = 0;
  struct Renewal {
    std::vector<std::shared_ptr<settler::Run>> runs;
    std::chrono::milliseconds lease{0};
  };
  /// The runs that have used a third of their lease.
  virtual Renewal to_renew(Clock::time_point now) const = 0;
  virtual void renewed(const std::vector<std::shared_ptr<settler::Run>>& runs, Clock::time_point lease_end) = 0;
  /// The leases released since the last call; the claimer releases them in the database.
  virtual std::vector<inbox::LeaseKey> take_released() = 0;

  /// The handler's sequences; null: it keeps no order, and owns none any more.
  virtual OrderedHandler* ordered() { return nullptr; }
};

using ClaimingHandlers = std::vector<std::shared_ptr<ClaimingHandler>>;
/// Lists all handlers, the retired ones included: they may have leases to release.
using ListHandlers = std::function<ClaimingHandlers()>;

}  // namespace inboxd::dispatcher
