#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dispatcher/run_queue.hpp"
#include "plugin/plugin.hpp"
#include "settler/run.hpp"

namespace inboxd::dispatcher {

/// What a worker took from the queue and how far it has come: events that are finished and not reported, the call that
/// runs, the rest. Pure; the worker guards it with a lock, because the rest is taken away from one that is stuck.
class Chunk {
 public:
  Chunk() = default;
  explicit Chunk(std::vector<Piece> pieces) : pieces_{std::move(pieces)} {}

  /// The next events, at most so many, become the call; one alone where they go singly. False where none are left.
  bool begin_call(std::size_t events);
  /// The events of the call as a handler gets them.
  void deliver(std::vector<plugin::Delivered>& to) const;
  std::size_t call_size() const;
  /// Whether others may have taken events of the call by then.
  bool is_call_taken(std::chrono::steady_clock::time_point now) const;

  /// Which verdicts count as interrupted, uncharged, of those of the class `cancelled`, which the plugin room gives in
  /// place of a handler that was cancelled before it came to an event, and a handler that knows its contract gives
  /// itself: none; all; or, where the call took too long, those of several events, which go singly from then on. So a
  /// slow event is charged for itself, and no more than one call stays without any result.
  enum class Cancelled { is_a_failure, is_an_interruption, goes_singly };
  /// The call's verdicts, one for each event; missing ones are failures.
  void end_call(std::vector<plugin::Verdict> verdicts, std::chrono::milliseconds duration, Cancelled cancelled);
  /// The call did not come back: all its events failed like that.
  void fail_call(const settler::Verdict& verdict, std::chrono::milliseconds duration);
  /// It did not come back, and it is not known which of its events is the reason: they are to be called one by one, by
  /// somebody else.
  std::vector<Piece> split_call() const;
  /// Only its first event stays in the call, the others are part of the rest.
  void keep_first();

  /// The transaction of all that is finished and not reported was undone: those calls are to be made again.
  void rewind();
  /// The same, for somebody else to make.
  std::vector<Piece> take_unreported();

  /// What is finished since the last time.
  std::vector<settler::Report> take_finished();
  /// What no call has begun with, and what was interrupted.
  std::vector<Piece> take_rest();
  /// The events of the call, for somebody else: it did not come back and is not charged.
  std::vector<Piece> call_pieces() const;

 private:
  struct Place {
    std::size_t piece = 0;
    std::size_t index = 0;   ///< into the run's events; meaningful only once `piece` is entered
    bool entered = false;
  };
  /// An event that is not simply done.
  struct Mark {
    std::size_t piece = 0;
    settler::Failed failed;
    bool interrupted = false;
    bool singly = false;  ///< from now on, where it was interrupted
  };
  bool at_end(const Place& place) const { return place.piece == pieces_.size(); }
  std::size_t index_of(const Place& place) const;
  std::size_t together(std::size_t most) const;
  Piece part(std::size_t number, std::size_t first, std::size_t end) const;
  void advance(Place& place, std::size_t events) const;
  template <class Visit>
  void each_part(const Place& from, const Place& to, Visit visit) const;

  std::vector<Piece> pieces_;
  Place reported_;           ///< before it, all is reported
  Place begin_;              ///< of the running call
  Place end_;
  std::vector<Mark> marks_;  ///< between reported_ and begin_, in order
  std::vector<Piece> interrupted_;
};

}  // namespace inboxd::dispatcher
