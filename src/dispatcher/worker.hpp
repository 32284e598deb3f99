#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "dispatcher/bell.hpp"
#include "dispatcher/chunk.hpp"
#include "dispatcher/in_hand.hpp"
#include "dispatcher/in_vain.hpp"
#include "inbox/handler_transaction.hpp"
#include "plugin/plugin.hpp"
#include "settler/gathering.hpp"
#include "settler/settler.hpp"
#include "settler/trouble.hpp"

namespace inboxd::dispatcher {

/// How calls are watched.
struct WatchLimits {
  std::chrono::milliseconds grace{1'000};  ///< a call past its deadline is told so, and given up after this
  std::chrono::milliseconds patience{20};  ///< who is busy for longer keeps nothing but the events of its call;
  std::chrono::milliseconds patience_in_transactions{100};  ///< the same where calls share one
  std::chrono::milliseconds late{1'500};  ///< where nobody has looked for longer, the process stood still
  settler::Trouble::Limits trouble;  ///< how a database is waited for that does not take what workers record
};

/// What workers tell the dispatcher as they end. Outlives it where a call never returns.
struct Ends {
  Bell bell;
  std::atomic<int> left{0};  ///< threads whose call, or instance, does not end, and that were left to it
};

/// What the workers of one crew share. Outlives the crew where a call never returns.
struct CrewShare {
  std::shared_ptr<InHand> in_hand;
  std::shared_ptr<plugin::Instance> instance;
  inbox::TransactionFactory transactions;  ///< empty: the handler writes in none
  base::Logger* log = nullptr;
  std::string handler;
  std::shared_ptr<Ends> ends;
  std::size_t events_per_call = 1;
  int group = 1;  ///< the most calls of one transaction
  std::chrono::milliseconds deadline{0};
  WatchLimits limits;
  std::atomic<bool> stop{false};       ///< no new calls
  std::atomic<bool> cancelled{false};  ///< shutdown: what the handler does not come to is not charged
  std::atomic<int> abandoned{0};       ///< threads of this crew in calls that were given up
  int most_abandoned = 1;              ///< with more of them the handler is stopped
  std::atomic<std::chrono::steady_clock::time_point> reviewed_at{std::chrono::steady_clock::now()};
};

/// One thread that calls a handler. It takes about a millisecond of work at once and calls event by event (or
/// `events_per_call` of them); what became of them goes to the settler when all of it is through. The overseer looks
/// after it (`review`): takes away from a slow call what it does not need, cancels it at its deadline, gives it up
/// after the grace; not while it waits for the database, which ends by itself and is no call's fault. A worker that was
/// given up touches nothing but its own when its call returns at last.
///
/// A handler that needs SQL has its calls made in transactions (transactions.cpp): what became of their events is not
/// reported but recorded by the worker itself, through settler::Gathering, as the last thing before COMMIT.
class Worker final {
 public:
  using Clock = std::chrono::steady_clock;

  Worker(std::shared_ptr<CrewShare> share, settler::Settler& settler);

  /// The thread's body: until `stop`, or until given up (true).
  bool run();
  bool has_ended() const { return ended_; }

  /// What a review found; the overseer acts on it without the worker's lock.
  struct Review {
    std::vector<settler::Report> reports;
    std::vector<Piece> rest;  ///< for other workers
    Pace::Running running;
    bool abandoned = false;  ///< the call was given up: the thread is lost
    bool split = false;      ///< its events are among the rest, to be called one by one; otherwise it was charged
  };
  /// `slept`: for so long before it the process stood still, which is no call's time.
  Review review(Clock::time_point now, Clock::duration slept);
  /// Tells a running call that nobody waits for it.
  void cancel();
  /// Gives up a running call without charging it, and whatever else would keep the thread.
  Review abandon();

 private:
  void give_up(Review& review);
  bool begin_call(std::size_t most_events);
  bool next_call();
  void call();
  void ask();
  Clock::duration note_time();
  bool end_call(Clock::duration duration);
  void report_and_return();

  // transactions.cpp: the same with a transaction around some calls.
  enum class Step { called, called_last, repeat, split, carefully, given_up };
  enum class GroupEnd { done, repeat, split, again, nothing, given_up };
  void run_transactions();
  GroupEnd run_group(bool one_event);
  Step call_in_transaction(bool alone, bool is_first);
  bool judge_call(const inbox::CallEnd& end);
  /// A call of whose end somebody wants to hear, with what is to be recorded of it.
  struct Untold {
    std::unique_ptr<plugin::Aftermath> aftermath;
    std::vector<plugin::Verdict> verdicts;
  };
  GroupEnd commit(std::size_t events);
  GroupEnd undo_group(GroupEnd end, std::size_t events);
  /// What a transaction records of a run.
  struct Recorded {
    std::shared_ptr<settler::Run> run;
    settler::Gathered sum;
  };
  static std::vector<Recorded> gathered(std::vector<settler::Report> reports);
  void note_committed(const std::vector<Recorded>& all);
  void note_lost(const std::vector<inbox::LeaseKey>& lost);
  void put_back_all();

  // repeats.cpp: those that did not get through.
  void note_why(const std::optional<inbox::SqlError>& error, Why where_lost);
  bool wait_after(const InVain& tries);
  bool wait_about(std::chrono::milliseconds wait);
  GroupEnd charge_culprit();
  GroupEnd charge(const inbox::SqlError& error);

  const std::shared_ptr<CrewShare> share_;
  settler::Settler& settler_;                                     ///< not touched once abandoned
  const std::unique_ptr<inbox::HandlerTransaction> transaction_;  ///< null where the handler writes in none
  plugin::Cancellation cancellation_;
  std::atomic<bool> ended_{false};

  std::mutex mutex_;  // guards the following; the thread and the overseer
  Chunk chunk_;
  Clock::time_point taken_;    ///< of the chunk's first call
  Clock::time_point started_;  ///< of the running call
  Clock::time_point waited_;   ///< until when it was seen to wait for the database
  Clock::duration slept_{0};   ///< of the running call's time
  bool excused_ = false;       ///< the running call may stop uncharged: what keeps it from its end is not its fault
  bool calling_ = false;
  bool abandoned_ = false;

  // The thread's own.
  std::vector<plugin::Delivered> delivered_;
  std::vector<plugin::Verdict> verdicts_;
  std::unique_ptr<plugin::Aftermath> aftermath_;  ///< of the call
  std::vector<Untold> untold_;                    ///< calls of the open transaction
  Clock::time_point call_began_;
  InHand::Work work_;
  base::Histogram::Tally calls_;
  inbox::SqlError repeat_because_;
  Why why_ = Why::ended;
  settler::Trouble trouble_;        ///< with what no event can be the reason of
  std::size_t undone_events_ = 0;   ///< of the group that was undone last
  int careful_ = 0;                 ///< groups to come whose calls get savepoints
};

}  // namespace inboxd::dispatcher
