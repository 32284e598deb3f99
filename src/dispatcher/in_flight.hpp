#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "config/settings.hpp"
#include "consumer/hand_off.hpp"
#include "dispatcher/admission.hpp"
#include "dispatcher/claimer_signals.hpp"
#include "dispatcher/due_claims.hpp"
#include "dispatcher/feed.hpp"
#include "dispatcher/lease_keeper.hpp"
#include "dispatcher/low_water.hpp"
#include "dispatcher/missing_sessions.hpp"
#include "dispatcher/requests.hpp"
#include "dispatcher/room.hpp"
#include "dispatcher/run_queue.hpp"
#include "dispatcher/sequences.hpp"
#include "dispatcher/settings.hpp"
#include "dispatcher/work_batch.hpp"
#include "plugin/instance.hpp"
#include "settler/run.hpp"
#include "transaction/body_watch.hpp"

namespace inboxd::dispatcher {

/// One handler's figures for metrics, status and tests.
struct Stats {
  std::int64_t queued = 0;     ///< events in flight that no worker has taken
  std::int64_t in_flight = 0;  ///< events, those not settled yet included
  std::int64_t in_flight_bytes = 0;
  std::int64_t reserved = 0;    ///< events that running ingest transactions may add
  std::int64_t target = 0;      ///< about a second of the handler's work
  double per_second = 0;        ///< with all workers busy; 0 while unknown
  std::int64_t expired = 0;     ///< events dropped before their call because the lease had expired
  std::int64_t released = 0;    ///< events released uncharged
  std::uint64_t repeated = 0;   ///< transactions repeated, uncharged
  std::uint64_t deadlines = 0;  ///< calls given up after their deadline
  int abandoned = 0;            ///< threads still in such a call
  bool backlog = false;         ///< more deliveries are due in the database
  bool paused = false;
  bool limited = false;             ///< events wait for `rate` or `max_in_flight`
  bool away = false;                ///< its service, as the handler said; until a call handles an event
  std::chrono::milliseconds away_for{0};
  MissingSessions::State missing_sessions;  ///< workers that wait for a database session
  std::string away_error;           ///< class and message
  int running_calls = 0;            ///< or whose outcomes are being reported
  std::int64_t concurrency = 0;
  std::int64_t unkeyed = 0;         ///< events without an order key, where the file does not say how these run
  transaction::BodyWatch::Seen bodies;
  bool stopped = false;             ///< too many abandoned threads
  std::size_t sequences = 0;        ///< that this process owns
  std::size_t blocked_keys = 0;     ///< of these sequences, parked ones included
  base::Histogram::Snapshot calls;  ///< seconds
};

/// Counts of a handler's calls. They outlive a worker pool, so a reload does not reset them. Any thread.
struct CallCounts {
  std::atomic<std::uint64_t> repeated{0};   ///< transactions repeated, uncharged
  std::atomic<std::uint64_t> deadlines{0};  ///< calls given up after their deadline
  std::atomic<int> abandoned{0};            ///< threads in calls that were given up
};

/// One handler's events in flight. Ingest threads hand runs over, the claimer adds claimed ones, workers take events,
/// and the settler reports them settled. Any thread; only `take` blocks. Each of its runs keeps it alive, even beyond
/// the dispatcher.
class InFlight final : public settler::RunOwner, public std::enable_shared_from_this<InFlight> {
 public:
  using Clock = std::chrono::steady_clock;

  InFlight(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
           std::shared_ptr<Budgets> budgets, std::shared_ptr<ClaimerSignals> claimer);

  std::int32_t handler_id() const { return handler_id_; }
  std::string handler() const;

  using Closed = Admission::Closed;
  void close(Closed reason);
  void reopen(Closed reason);
  /// Applies settings after a reload.
  void configure(const config::Handler& settings, plugin::Instance::Needs needs = {});
  /// Reports its use of the budgets after their division changed.
  void recount();

  // Ingest: see consumer::HandOff.
  consumer::HandOff::Reservation reserve(std::int64_t events, std::size_t bytes);
  void hand_over(inbox::LeasedRun run, std::int64_t reserved);
  void release(std::int64_t events);
  void notify_due();
  std::int64_t events_in(std::chrono::milliseconds time) const;
  /// A back-fill has added deliveries, which a sequence that has caught up does not look for.
  void notify_fed();
  consumer::HandOff::Reservation reserve_in_order(const consumer::HandOff::InOrder& part, std::int64_t events,
                                                  std::size_t bytes);
  void end_in_order(const consumer::HandOff::InOrder& part, std::int32_t sequence, bool is_in_memory);
  void assigned(std::int32_t shard_id);
  void revoked(std::int32_t shard_id);

  // Pauses that hold for all instances (admitted_handler.cpp).
  void set_hold(inbox::HandlerHold::State state);
  /// Nothing but such a pause keeps it from running here.
  bool may_try() const;
  /// A verdict or a rule of the handler pauses it.
  void pause(const std::string& reason);
  /// A call has ended with these verdicts, which may blow the fuse.
  void called(const CallCount& count);
  /// The handler is paused: workers begin no further call. Without the lock.
  bool are_calls_stopped() const { return calls_stopped_; }
  /// Its service is away, with that error: no call begins for that long.
  void away(std::chrono::milliseconds delay, const std::string& error);

  // The claimer (questions.cpp). Called by its thread.

  /// The next question to the database; nullopt ends the visit. A visit asks each question of the class about once. It
  /// must be answered before the next one of its class.
  std::optional<Request> next(Class of, Clock::time_point now);
  /// Returns the end of a window, if the answer tells of one.
  std::optional<WindowEnd> answer(const Request& request, Answer answer, const Visit& visit);
  /// When to visit it for that class, unless the claimer is woken before.
  Clock::time_point next_due(Class of, Clock::time_point now);
  /// At the end of the process: returns the calls that `max_in_flight` granted.
  std::optional<Request> last_request();
  /// The session of earlier readings has ended.
  void forget_low_water();
  struct LeaseState {
    std::chrono::milliseconds length{0};  ///< as configured now
    bool is_at_stake = false;             ///< runs are in flight, which a late renewal would lose
  };
  LeaseState lease() const;
  /// Closes the handler, or opens it again, while a suspect runs alone.
  void set_isolated(bool isolated);
  /// The last claim passed over deliveries that it may take now.
  void claim_again();
  /// A run for the settler that is never in flight.
  std::shared_ptr<settler::Run> make_run(inbox::LeasedRun lease);

  // Workers and their pool.

  /// A worker's calls since its last `take`.
  struct Work {
    std::int64_t events = 0;
    Clock::duration busy{0};
    bool had_events = false;  ///< as Taken said
    bool answered = false;    ///< events were handled, by a call after all that found the service away
  };
  /// Events for a worker, and reports of events that leave memory without a call: their keys are blocked, or they have
  /// expired.
  struct Taken {
    std::vector<RunSlice> slices;
    std::vector<settler::Report> uncalled;
    bool had_events = false;  ///< to call, the expired ones included
    bool empty() const { return slices.empty() && uncalled.empty(); }
  };
  /// The next events for one worker; waits for some. Empty once `stop` is set and `wake` was called. `workers`: so
  /// many wait together.
  Taken take(const std::atomic<bool>& stop, Work done, int workers = 1);
  /// Notes calls before the next `take`, which AsyncWorkers asks for several workers.
  void worked(const Work& done);
  /// A worker with events ends.
  void left();
  void put_back(std::vector<RunSlice> slices);
  /// Whether further events of a key wait for these outcomes, here or in a lane.
  bool awaits(const std::vector<settler::Report>& reports) const;
  void wake();
  /// Releases queued events far beyond a second of work.
  void review(Pace::Running running);
  /// The duration of calls in seconds. Workers add their own tallies.
  base::Histogram& calls() { return calls_; }
  const base::Histogram& calls() const { return calls_; }
  CallCounts& call_counts() { return call_counts_; }
  transaction::BodyWatch& body_watch() { return body_watch_; }
  MissingSessions& missing_sessions() { return missing_sessions_; }

  // The settler.
  void settled(const settler::Run& run, std::int64_t events) override;
  void settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) override;
  void lost(const settler::Run& run) override;
  void retry_at(Clock::time_point due) override;
  void recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) override;
  event::Microseconds now() const override { return claimer_->clock.now(); }

  /// Nothing is in flight or reserved, and no backlog is known.
  bool idle() const;
  Stats stats() const;

 private:
  bool takes() const { return admission_.takes(); }
  void apply(Admission::Effect effect);
  std::int64_t free_room() const;
  bool has_room_for_claim() const;
  std::int64_t run_events_of(std::int64_t events) const;
  void count();
  void add(std::shared_ptr<settler::Run> run, std::int64_t bytes, Clock::time_point lease_end);
  std::shared_ptr<settler::Run> run_of(inbox::LeasedRun lease);
  struct Loaded {
    std::shared_ptr<settler::Run> run;
    std::int64_t bytes = 0;
  };
  std::vector<Loaded> load(std::vector<inbox::LeasedRun> runs);
  consumer::HandOff::Reservation grant(std::int64_t events, std::size_t bytes);

  // Questions and answers; under the lock.
  using Question = std::optional<Request> (InFlight::*)(Clock::time_point now);
  template <std::size_t total>
  std::optional<Request> next_of(const std::array<Question, total>& questions, Class of, Clock::time_point now);
  Leases leases() { return {handler_id_, settings_.lease, queue_, sequences_}; }
  std::optional<Request> next_lease(Clock::time_point now);
  std::optional<Request> write_hold(Clock::time_point now);
  std::optional<Request> take_tokens(Clock::time_point now);
  std::optional<Request> share_calls(Clock::time_point now);
  std::optional<Request> read_due(Clock::time_point now);
  std::optional<Request> take_sequences(Clock::time_point now);
  std::optional<Request> read_lanes(Clock::time_point now);
  std::optional<Request> check_lanes(Clock::time_point now);
  std::optional<Request> turn_window(Clock::time_point now);
  std::optional<Request> claim_in_order(Clock::time_point now);
  std::optional<Request> claim(Clock::time_point now);
  Clock::time_point next_claim(Clock::time_point now);
  template <class Asked>
  void answered(const Asked& /*question*/, const typename Asked::Result& /*result*/, const Visit& /*visit*/) {}
  void answered(const WriteHold& question, std::monostate result, const Visit& visit);
  void answered(const TakeTokens& question, const inbox::Tokens& tokens, const Visit& visit);
  void answered(const ShareCalls& question, int calls, const Visit& visit);
  void answered(const ReadDue& question, const inbox::DueReading& reading, const Visit& visit);
  void answered(const TakeSequences& question, const std::vector<std::int32_t>& taken, const Visit& visit);
  void answered(const ReadLanes& question, const std::vector<inbox::Lane>& lanes, const Visit& visit);
  void answered(const CheckLanes& question, const CheckLanes::Result& result, const Visit& visit);
  void answered(const TurnWindow& question, const inbox::WindowTurn& turn, const Visit& visit);
  void failed(const Request& request, const inbox::DatabaseFailure& failure, const Visit& visit);
  void end_claim(const inbox::ClaimRequest& request, const Claim::Result& result, const std::vector<Loaded>& runs,
                 const Visit& visit);
  std::optional<WindowEnd> end_claim_in_order(inbox::ClaimedInOrder& claimed, const std::vector<Loaded>& runs,
                                              const Visit& visit);

  // Events in order (ordered_handler.cpp); under the lock.
  void make_feed(const Order* order);
  static void set_keys(settler::Run& run, const Order* order);
  std::int64_t unkeyed_of(const settler::Run& run) const;
  // Windows (batch_handler.cpp); under the lock.
  std::optional<Request> claim_window(Clock::time_point now);
  std::optional<WindowEnd> window_read(inbox::SequenceRead::State state, bool has_claimed);
  Clock::time_point next_window_work(Clock::time_point now);
  ClaimInOrder ordered_claim(std::int64_t events);
  Taken next_work(const std::atomic<bool>& stop, int workers);
  Taken take_now(Clock::time_point now);
  void not_called(std::int64_t events, bool all);
  // Admission (admitted_handler.cpp); under the lock.
  bool may_begin();
  Taken begin(Taken taken);
  std::int64_t target() const;
  void after_change();
  void work_has_come();
  bool wake_claimer_to_release();
  void wake_claimer_for_room();

  const std::int32_t handler_id_;
  const std::chrono::milliseconds poll_;
  const std::shared_ptr<ClaimerSignals> claimer_;
  std::atomic<bool> calls_stopped_{false};
  std::atomic<bool> has_fuse_{false};
  std::atomic<bool> has_failures_{false};  ///< that count towards the fuse
  base::Histogram calls_{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  CallCounts call_counts_;
  transaction::BodyWatch body_watch_;
  MissingSessions missing_sessions_;

  mutable std::mutex mutex_;  // guards the following
  std::condition_variable work_;
  int idle_workers_ = 0;
  std::uint64_t work_changes_ = 0;  ///< of the events that workers might take in order
  Admission admission_;
  Settings settings_;
  RunQueue queue_;
  Room room_;
  std::int64_t suspects_ = 0;  ///< its suspect runs, as reported
  DueClaims due_;
  bool wants_room_ = false;  ///< the claimer would claim if there were room
  // In order.
  Sequences sequences_;
  Feed feed_;
  std::int64_t unkeyed_ = 0;
  Clock::time_point next_read_{};  ///< of the sequences
  // Questions to the database.
  std::array<std::size_t, classes> steps_{};  ///< of the visits
  LeaseKeeper keeper_;
  LowWaterReadings readings_;
  Clock::time_point next_take_{};  ///< of sequences
};

}  // namespace inboxd::dispatcher
