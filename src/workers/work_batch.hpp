#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event/verdict.hpp"
#include "plugin/instance.hpp"
#include "queue/call_figures.hpp"
#include "queue/key_order.hpp"
#include "queue/run_queue.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// The events that a worker took from the queue, and its progress:
///
///   | reported | finished | running call | rest |
///
/// Bookkeeping without a lock. The worker guards it, because the overseer takes the rest away from a stuck worker.
class WorkBatch {
 public:
  WorkBatch() = default;
  explicit WorkBatch(std::vector<RunSlice> slices) : slices_{std::move(slices)} {}

  /// Makes the next events the running call: at most `events`, or a single event that must be called alone. False: none
  /// is left. Events whose key has failed in this batch are not called: they wait for the failed event.
  bool begin_call(std::size_t events);
  /// Whether an event was done although an earlier event with the same key was not. The call must then be undone; when
  /// it runs again it ends before such events.
  bool cut_out_of_order(const std::vector<event::Verdict>& verdicts);
  /// Whether the next events have no lease by then: another instance may have them, or an operator may have erased
  /// their content.
  bool is_next_taken(std::chrono::steady_clock::time_point now) const;
  /// The call's events as a handler gets them.
  void deliver(std::vector<plugin::Delivered>& to) const;
  std::size_t call_size() const;
  /// Whether another instance may have claimed events of the call by then.
  bool is_call_taken(std::chrono::steady_clock::time_point now) const;

  /// The meaning of a verdict of the class `cancelled` (the handler did not come to the event). `one_by_one`, for a
  /// call that took too long: uncharged, and called alone from then on. A call of a single event that took too long is
  /// charged.
  enum class Cancelled { failed, interrupted, one_by_one };
  /// Ends the call with a verdict for each event; a missing verdict is a failure.
  CallCount end_call(std::vector<event::Verdict> verdicts, std::chrono::milliseconds duration, Cancelled cancelled);
  /// The call did not return: all its events get that verdict.
  CallCount fail_call(const event::Verdict& verdict, std::chrono::milliseconds duration);
  /// The call did not return, and the slow event is unknown: its events, for another worker to call individually.
  std::vector<RunSlice> split_call() const;
  /// Leaves only the first event in the call; the others join the rest.
  void keep_first();

  /// The transaction of the finished calls was undone: the batch starts over after the reported events.
  void rewind();
  /// The events of the finished calls, for another worker.
  std::vector<RunSlice> take_unreported();

  /// Reports the events finished since the last report.
  std::vector<settler::Report> take_finished();
  /// The events that no call has begun with, and the interrupted events.
  std::vector<RunSlice> take_rest();
  /// The reason of a pause, by a verdict or by the handler's rules: no further call begins. The event is interrupted.
  const std::optional<std::string>& paused_by() const { return paused_by_; }
  /// For a service that is away: for how long.
  const std::optional<std::chrono::milliseconds>& away_for() const { return away_for_; }
  const std::string& away_error() const { return away_error_; }
  /// The running call's events, for another worker: the call did not return and is not charged.
  std::vector<RunSlice> call_slices() const { return parts(begin_, end_); }

 private:
  struct Position {
    std::size_t slice = 0;
    std::size_t index = 0;  ///< into the run's events; meaningful once the slice is entered
    bool entered = false;
  };
  /// An event that is not done.
  struct Failure {
    std::size_t slice = 0;
    settler::FailedEvent failed;
    bool interrupted = false;
    bool one_by_one = false;  ///< from now on, if it was interrupted
  };
  /// What becomes of the later events of a key in this batch.
  enum class Later { wait, park, interrupt };
  bool at_end(const Position& position) const { return position.slice == slices_.size(); }
  std::size_t index_of(const Position& position) const;
  std::size_t together(std::size_t most) const;
  std::vector<RunSlice> parts(const Position& from, const Position& to) const;
  void advance(Position& position, std::size_t events) const;
  static event::Verdict ruled(const settler::Run& run, event::Verdict verdict);
  static std::optional<Later> later_events(const settler::Run& run, const event::Verdict& verdict, bool interrupted);
  void note(std::size_t number, std::size_t index, const event::Verdict& given, std::chrono::milliseconds duration,
            bool interrupted, bool one_by_one);
  bool note_behind_failed(std::size_t number, std::size_t index);
  template <class Visit>
  void each_part(const Position& from, const Position& to, Visit visit) const;

  std::vector<RunSlice> slices_;
  Position reported_;  ///< all events before it are reported
  Position begin_;     ///< of the running call
  Position end_;
  CallCount count_;                ///< of the call that ends
  std::vector<Failure> failures_;  ///< between reported_ and begin_, in order
  std::vector<RunSlice> interrupted_;
  std::optional<std::string> paused_by_;
  std::optional<std::chrono::milliseconds> away_for_;
  std::string away_error_;  ///< of the longest wait
  std::unordered_map<OrderKey, Later> stopped_keys_;
  std::unordered_map<OrderKey, Later> reported_stops_;                 ///< of these, the stops by reported events
  std::set<std::pair<const settler::Run*, std::size_t>> call_starts_;  ///< events with which a call must begin
};

}  // namespace inboxd::dispatcher
