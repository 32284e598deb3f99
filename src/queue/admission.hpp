#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "config/settings.hpp"
#include "queue/hold.hpp"
#include "queue/limits.hpp"
#include "queue/requests.hpp"

namespace inboxd::dispatcher {

/// Whether a handler may have events in memory, and whether a worker may take some now.
///
///   closed   paused here, retired, stopped, isolated or shut down: it has nothing queued and claims nothing
///   held     the same, because it is paused for all instances or its fuse has blown
///   trial    a single event is with a worker, whose outcome decides about the pause
///   away     its service is away: no call begins before a time
///   limited  events wait for `rate` or `max_in_flight`
///   open     a worker may take events
///
/// The first that applies is the state. Bookkeeping without lock or clock.
class Admission final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { closed, held, trial, away, limited, open };
  /// The reasons for which it is closed.
  enum class Closed : unsigned { paused = 1, retired = 2, stopped = 4, shutdown = 8, isolation = 16, reorder = 32 };
  /// The effect of a change on the events in memory.
  enum class Effect {
    none,
    closed,  ///< queued events leave memory
    opened,  ///< events may be claimed again
    work,    ///< workers may take events that they could not take before
  };

  void configure(const config::Handler& settings);

  State state() const { return state_; }
  /// Events may be claimed and handed over.
  bool takes() const { return state_ != State::closed && state_ != State::held; }
  bool is_closed_for(Closed reason) const { return (closed_ & static_cast<unsigned>(reason)) != 0; }
  /// Nothing but a pause for all instances keeps it from running here.
  bool may_try() const { return closed_ == 0; }
  bool is_limited() const { return tokens_.is_waiting() || share_.is_waiting(); }

  Effect close(Closed reason);
  Effect reopen(Closed reason);

  // Pauses for all instances, and the fuse: see Hold.
  const Hold& hold() const { return hold_; }
  template <class Change>
  Effect change_hold(Change&& change) {
    const auto before = hold_.state();
    change(hold_);
    return after_hold(before);
  }

  // Workers.

  /// Whether a worker may take events, if any are queued. `asks`: the claimer must ask for tokens or calls.
  struct May {
    bool take = false;
    bool asks = false;
  };
  May may_take(Clock::time_point now);
  /// The most events that it may take then.
  std::int64_t max_events(Clock::time_point now) const { return tokens_.allowed(now); }
  /// Of the events that a worker takes, only the first is to be called.
  bool tries_one() const { return hold_.state() == Hold::State::trial; }
  /// A worker takes `events` events.
  void take(std::int64_t events);
  /// A worker's events, taken with `take`, have ended.
  void end_work() { share_.end(); }
  /// They came back without a call. `all`: the worker has no others.
  void give_back(std::int64_t events, bool all);
  /// A run was lost, maybe that of the event on trial.
  void lose_trial();

  // Its service.

  /// It is away, with that error: no call begins for that long. Without a delay, events wait for an earlier delay.
  Effect go_away(Clock::time_point now, std::chrono::milliseconds delay, const std::string& error);
  /// A call has handled an event since.
  void is_back() { away_since_.reset(); }
  /// The wait may be over. `any_events`: a call may still tell whether it is back.
  Effect review(Clock::time_point now, bool any_events);
  std::optional<Clock::time_point> away_since() const { return away_since_; }
  const std::string& away_error() const { return away_error_; }

  // `rate` and `max_in_flight`: see RateTokens and CallShare.

  const RateTokens& tokens() const { return tokens_; }
  int running_calls() const { return share_.running(); }

  // Questions to the database.

  std::optional<Request> write_hold(std::int32_t handler_id) const;
  std::optional<Request> take_tokens(std::int32_t handler_id, Clock::time_point now);
  /// `idle`: workers that would call now if they might.
  std::optional<Request> share_calls(std::int32_t handler_id, int idle, Clock::time_point now);
  /// At the end: no call begins any more.
  std::optional<Request> release_calls(std::int32_t handler_id);
  /// When to ask for tokens or calls.
  Clock::time_point next_limits() const;
  Effect answered(const WriteHold& question, std::monostate result, const Visit& visit);
  Effect answered(const TakeTokens& question, const inbox::Tokens& tokens, const Visit& visit);
  Effect answered(const ShareCalls& question, int calls, const Visit& visit);

 private:
  State state_of() const;
  void change();
  Effect after_hold(Hold::State before);

  State state_ = State::open;
  unsigned closed_ = 0;  ///< Closed
  Hold hold_;
  std::optional<Clock::time_point> away_until_;  ///< no call begins before
  std::optional<Clock::time_point> away_since_;  ///< no call has handled an event since
  std::string away_error_;
  RateTokens tokens_;
  CallShare share_;
};

}  // namespace inboxd::dispatcher
