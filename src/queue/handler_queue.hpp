#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/settings.hpp"
#include "consumer/hand_off.hpp"
#include "plugin/instance.hpp"
#include "queue/claim_questions.hpp"
#include "queue/feed.hpp"
#include "queue/handler_state.hpp"
#include "queue/requests.hpp"
#include "queue/visit_steps.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// A handler's events in flight: a machine without lock, clock or I/O. It asks the database by `next` and `answer`, and
/// gives events to workers. `end_change` must follow each change, before anything else happens. InFlight guards it.
class HandlerQueue final {
 public:
  using Clock = std::chrono::steady_clock;

  HandlerQueue(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
               std::shared_ptr<Budgets> budgets)
      : state_{handler_id, settings, poll, std::move(budgets)}, feed_{state_.settings, poll} {}

  const HandlerState& state() const { return state_; }
  std::size_t blocked_keys() const {
    return feed_.with([](const auto& feed) { return feed.blocked_keys(); });
  }
  /// Events in memory that wait for others of their key.
  std::size_t deferred() const {
    return feed_.with([](const auto& feed) { return feed.deferred(); });
  }
  std::int64_t target() const {
    return feed_.with([&](const auto& feed) { return feed.target(state_); });
  }
  /// Nothing is in flight or reserved, and no backlog is known.
  bool idle() const;

  /// Acts on sequences that began to drain and on runs that left memory. Returns the threads to wake.
  Wakes end_change(Clock::time_point now);

  /// Applies settings after a reload.
  void configure(const config::Handler& settings, plugin::Instance::Needs needs, Clock::time_point now);
  /// Applies a change of the admission, a function that returns its effect.
  template <class Change>
  void admit(Change&& change) {
    apply(change(state_.admission));
  }

  // Ingest: see consumer::HandOff.
  consumer::HandOff::Reservation reserve(std::int64_t events, std::size_t bytes, Clock::time_point now);
  consumer::HandOff::Reservation reserve_in_order(const consumer::HandOff::InOrder& part, std::int64_t events,
                                                  std::size_t bytes, Clock::time_point now);
  bool lacks_room(const consumer::HandOff::InOrder* part, std::int64_t events, std::size_t bytes) const;
  /// A run with its size. `events`: of the reservation, as in `release`.
  struct Loaded {
    std::shared_ptr<settler::Run> run;
    std::int64_t bytes = 0;
  };
  void hand_over(Loaded run, std::int64_t events, Clock::time_point now);
  void release(std::int64_t events);
  void end_in_order(const consumer::HandOff::InOrder& part, std::int32_t sequence, bool is_in_memory,
                    Clock::time_point now);
  void notify_due(Clock::time_point now);
  /// A back-fill has added deliveries, which a sequence that has caught up does not look for.
  void notify_fed(Clock::time_point now);
  void assigned(std::int32_t shard_id);
  void look_for_orphans_at_once() { state_.sequences.look_for_orphans_at_once(); }
  void revoked(std::int32_t shard_id) { state_.sequences.revoked(shard_id); }

  // Questions to the database.

  /// The next question of a visit, which asks each of the class about once; nullopt ends the visit. It must be answered
  /// before the next question of its class. `idle`: workers that would call now if they might.
  std::optional<Request> next(Class of, Clock::time_point now, int idle);
  /// `runs`: the runs of the answer. Returns the end of a window, if the answer has an end.
  std::optional<WindowEnd> answer(const Request& request, const Answer& answer, const std::vector<Loaded>& runs,
                                  const Visit& visit);
  /// When to visit it for that class, unless the claimer is woken before.
  Clock::time_point next_due(Class of, Clock::time_point now);
  /// At the end of the process: returns the calls that `max_in_flight` granted.
  std::optional<Request> last_request() { return state_.admission.release_calls(state_.handler_id); }
  /// If its next claim would only look whether something is due: begins such a look, and returns the time before which
  /// nothing is due.
  struct Look {
    std::optional<event::Microseconds> not_before;
  };
  std::optional<Look> begin_look(Clock::time_point now);
  /// It is time for a look. The looks of other handlers serve it, too, so that all have the same time.
  bool is_look_due(Clock::time_point now) const {
    return state_.takes() && !state_.due.has_backlog() && now >= state_.due.next();
  }
  /// The session of earlier readings has ended.
  void forget_low_water() { state_.readings.forget(); }
  /// The last claim passed over deliveries that it may take now.
  void claim_again(Clock::time_point now) { state_.due.poll_at(now); }

  // Workers.

  /// A worker's calls since its last `take`.
  struct Work {
    std::int64_t events = 0;
    Clock::duration busy{0};
    bool had_events = false;  ///< as Taken said
    bool answered = false;    ///< events were handled, by a call after all that found the service away
  };
  void worked(const Work& done);
  /// Events for a worker, and reports of events that leave memory without a call: their keys are blocked, or they have
  /// expired.
  struct Taken {
    std::vector<RunSlice> slices;
    std::vector<settler::Report> uncalled;
    bool had_events = false;  ///< to call, expired events included
    bool empty() const { return slices.empty() && uncalled.empty(); }
  };
  /// The events that a worker may take now.
  Taken take(Clock::time_point now);
  /// `events` of a worker's events had expired before their call; `all`: it has no others.
  void not_called(std::int64_t events, bool all);
  void put_back(std::vector<RunSlice> slices, Clock::time_point now);
  /// Releases queued events far beyond a second of work.
  void review(Pace::Running running, Clock::time_point now);

  // The settler.
  void settled(const settler::Run& run, std::int64_t events, Clock::time_point now);
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects, Clock::time_point now);
  void lost(const settler::Run& run, std::int64_t events);
  void retry_at(Clock::time_point due);

 private:
  void apply(Admission::Effect effect);
  void leave_memory(Clock::time_point now);
  void read_now(Clock::time_point now);
  /// The most of these events that may be in memory beside the others.
  std::int64_t room_for(std::int64_t events, std::size_t bytes) const;
  consumer::HandOff::Reservation grant(std::int64_t events, std::size_t bytes, Clock::time_point now);
  void add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end);
  Taken begin(Taken taken, Clock::time_point now);
  void failed(const Request& request, const inbox::DatabaseFailure& failure, const Visit& visit);
  template <class Question>
  std::optional<WindowEnd> answered(const Question& question, const typename Question::Result& result,
                                    const std::vector<Loaded>& runs, const Visit& visit);
  std::optional<WindowEnd> answered(const Claim& question, const Claim::Result& result,
                                    const std::vector<Loaded>& runs, const Visit& visit);
  std::optional<WindowEnd> answered(const ClaimInOrder& question, const inbox::ClaimedInOrder& result,
                                    const std::vector<Loaded>& runs, const Visit& visit);

  HandlerState state_;
  Feed feed_;
  ClaimQuestions claims_;
  VisitSteps hold_steps_;
  VisitSteps limit_steps_;
  std::size_t released_runs_ = 0;  ///< that the claimer was told of
};

}  // namespace inboxd::dispatcher
