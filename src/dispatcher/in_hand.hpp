#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "config/settings.hpp"
#include "consumer/hand_off.hpp"
#include "dispatcher/bell.hpp"
#include "dispatcher/due_times.hpp"
#include "dispatcher/pace.hpp"
#include "dispatcher/reservations.hpp"
#include "dispatcher/room.hpp"
#include "dispatcher/run_queue.hpp"
#include "plugin/plugin.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// What all handlers share: the limits, and the bell that wakes the claimer.
struct Shared {
  Shared(std::int64_t events_limit, std::int64_t bytes_limit) : events{events_limit}, bytes{bytes_limit} {}
  Budget events;
  Budget bytes;
  std::atomic<std::int64_t> suspects{0};  ///< runs in hand (inbox::is_suspect); the claimer takes no more than one
  Bell claimer;
};

/// A handler in figures: for metrics, status and tests.
struct Stats {
  std::int64_t queued = 0;   ///< events in hand that no worker has taken
  std::int64_t in_hand = 0;  ///< events in hand, those not yet settled included
  std::int64_t in_hand_bytes = 0;
  std::int64_t reserved = 0;    ///< events that running ingest transactions may bring
  std::int64_t target = 0;      ///< about a second of its work
  double per_second = 0;        ///< what its workers could do; 0 while nothing is known
  std::int64_t expired = 0;     ///< events dropped before their call because the lease had run out
  std::int64_t given_back = 0;  ///< events given back uncharged
  std::uint64_t repeated = 0;   ///< transactions that ran again, uncharged
  std::uint64_t deadlines = 0;  ///< calls past their deadline that were given up
  int abandoned = 0;            ///< threads that are still in such a call
  bool backlog = false;         ///< there is more in the database
  bool paused = false;
  bool stopped = false;             ///< too many abandoned threads
  base::Histogram::Snapshot calls;  ///< seconds
};

/// What became of its calls, whichever crew made them: a reload begins none of it anew. Any thread.
struct CallCounts {
  std::atomic<std::uint64_t> repeated{0};   ///< transactions that ran again, uncharged
  std::atomic<std::uint64_t> deadlines{0};  ///< calls past their deadline that were given up
  std::atomic<int> abandoned{0};            ///< threads in calls that were given up
};

/// What one handler has in hand, and the meeting place of those who move it: ingest threads hand over, the claimer
/// brings what was due, workers take, the settler says what is settled. Any thread; no call blocks but `take`. Lives as
/// long as anything of it is in hand, whatever becomes of the dispatcher.
class InHand final : public settler::Holder, public std::enable_shared_from_this<InHand> {
 public:
  using Clock = std::chrono::steady_clock;

  InHand(std::int32_t handler_id, const config::Handler& settings, std::chrono::milliseconds poll,
         std::shared_ptr<Shared> shared);

  std::int32_t handler_id() const { return handler_id_; }
  std::string handler() const;  ///< its name

  /// What keeps a handler from getting anything; what is queued then goes back to the database.
  enum class Closed : unsigned { paused = 1, retired = 2, stopped = 4, ending = 8, aside = 16 };
  void close(Closed reason);
  void reopen(Closed reason);
  bool is_open() const;
  /// New settings after a reload.
  void configure(const config::Handler& settings, plugin::Instance::Needs needs = {});
  void recount();

  // Ingest: see consumer::HandOff.
  consumer::HandOff::Room reserve(std::int64_t events, std::size_t bytes);
  void hand_over(inbox::LeasedRun run, std::int64_t reserved);
  void release(std::int64_t events);
  void born_due();

  /// What the claimer may take.
  struct Wish {
    std::int64_t events = 0;
    std::size_t bytes = 0;
    std::chrono::milliseconds lease{0};
    std::uint64_t births = 0;     ///< how often events were born due before
    std::int64_t run_events = 0;  ///< the most events of a run; 0: as it is
    bool payloads = true;
    std::int32_t max_crashes = 0;
  };
  /// Where it is time to look into the database and there is room; the room is held until `end_claim`.
  std::optional<Wish> begin_claim(Clock::time_point now);
  /// `more`: there may be further due deliveries.
  void end_claim(const Wish& wish, std::vector<inbox::LeasedRun> runs, Clock::time_point asked, bool more);
  void claim_failed();
  /// There may be something due that the last claim was not to take.
  void look_again();
  /// When to ask again for a wish, unless the bell rings before.
  Clock::time_point next_claim(Clock::time_point now);

  /// A run that goes to the settler without having been in hand.
  std::shared_ptr<settler::Run> make_run(inbox::LeasedRun lease);

  std::vector<inbox::LeaseKey> take_left();
  struct Renewal {
    std::vector<std::shared_ptr<settler::Run>> runs;
    std::chrono::milliseconds lease{0};
  };
  std::chrono::milliseconds lease() const;
  /// How long a lease is, where anything is held that could be lost by being renewed too late.
  std::optional<std::chrono::milliseconds> lease_at_stake() const;
  /// Runs that have used a third of their lease.
  Renewal to_renew(Clock::time_point now) const;
  void renewed(const std::vector<std::shared_ptr<settler::Run>>& runs, Clock::time_point lease_end);
  /// Whether anything came into hand since the last time this was asked.
  bool was_active() { return active_.exchange(false); }

  /// What a worker has done since it last took something.
  struct Work {
    std::int64_t events = 0;
    Clock::duration busy{0};
  };
  /// The next events for one worker; waits for some. Empty once `stop` is set (and `wake` called).
  std::vector<Piece> take(const std::atomic<bool>& stop, Work done);
  void put_back(std::vector<Piece> pieces);
  void wake();

  /// Looks at what is in hand now and then: what is far more than a second of work is given back.
  void review(Pace::Running running);

  void settled(const settler::Run& run, std::int64_t events) override;
  void lost(const settler::Run& run) override;
  void retry_at(Clock::time_point due) override;

  /// How long calls took, in seconds. Workers add what they gathered.
  base::Histogram& calls() { return calls_; }
  const base::Histogram& calls() const { return calls_; }
  CallCounts& call_counts() { return call_counts_; }

  /// Nothing in hand or expected, and no backlog known.
  bool idle() const;
  Stats stats() const;

 private:
  bool takes() const { return closed_ == 0; }
  std::int64_t held() const;
  std::int64_t room() const;
  bool room_is_enough() const;
  std::int64_t run_events_of(std::int64_t events) const;
  void count();
  void note_size(std::int64_t events, std::int64_t bytes);
  void add(inbox::LeasedRun run, std::int64_t bytes, Clock::time_point lease_end);
  bool ring_for_left();
  void ring_if_hungry();

  const std::int32_t handler_id_;
  const std::chrono::milliseconds poll_;
  const std::shared_ptr<Shared> shared_;
  std::atomic<bool> active_{false};
  base::Histogram calls_{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  CallCounts call_counts_;

  mutable std::mutex mutex_;  // guards the following
  std::condition_variable work_;
  int idle_workers_ = 0;
  unsigned closed_ = 0;
  std::string handler_;  ///< its name
  config::Retry retry_;
  std::chrono::milliseconds lease_;
  std::int32_t max_crashes_;
  plugin::Instance::Needs needs_;
  std::int64_t events_per_call_ = 1;
  std::int64_t transaction_events_ = 1;  ///< the most of one transaction: events_per_call * group
  RunQueue queue_;
  Reservations reservations_;
  Pace pace_;
  std::int64_t claiming_ = 0;  ///< events of a claim under way
  std::int64_t bytes_per_event_;
  std::int64_t common_events_ = 0;  ///< what it uses of the budgets' common halves
  std::int64_t common_bytes_ = 0;
  std::int64_t suspects_ = 0;  ///< those of its own that it has told of
  bool backlog_ = true;   ///< until a claim has found less than it asked for
  bool no_room_ = false;  ///< a reservation got less than it asked for
  bool hungry_ = false;   ///< the claimer would take more, had there been room
  std::uint64_t births_ = 0;
  DueTimes retries_;
  Clock::time_point next_poll_{};
};

}  // namespace inboxd::dispatcher
