#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::support {

/// A sequence as the documents promise it: its events, their states, its keys. No rows, no leases of rows, no clock.
/// Each member function is a step; a step that breaks a promise throws std::logic_error. `-` is the key of events
/// without one.
class OrderModel final {
 public:
  enum class State { in_log, in_lane, unordered, done, dead, parked };
  /// When a retry, or the first event of a lane, is due. never: it waits for the first event, or is leased.
  enum class Due { now, later, never };
  struct Event {
    char key = '-';
    State state = State::in_log;
    Due due = Due::never;
    bool is_leased = false;
    int attempts = 0;
    bool had_outcome = false;  ///< it was dead before, or is retried in no order
    bool keeps_lane = false;   ///< as a dead letter
    bool parks = false;        ///< as a dead letter
  };
  struct Outcome {
    std::int64_t offset = 0;
    enum class Kind { done, retry, dead, parks, parked, waits } kind = Kind::done;
    Due due = Due::never;  ///< of a retry
  };
  enum class Answer { done, refused, leased };  ///< to an operator

  explicit OrderModel(config::OnFailure on_failure) : on_failure_{on_failure} {}

  void store(char key, bool is_leased);
  /// An owner takes the sequence: all leases end.
  void take();
  /// Events handed to the owner: the next events of the log in order, or the first events of a due lane.
  void claim_log(const std::vector<std::int64_t>& offsets);
  void claim_lane(const std::vector<std::int64_t>& offsets);
  void release(const std::vector<std::int64_t>& offsets);
  void settle(const std::vector<Outcome>& outcomes);

  Answer skip(std::int64_t offset);
  Answer retry(std::int64_t offset);
  Answer replay(std::int64_t offset);
  Answer release_key(char key);
  /// The time of an event's retry has come.
  void pass_time(std::int64_t offset) { at(offset).due = Due::now; }

  const std::vector<Event>& events() const { return events_; }
  const Event& event(std::int64_t offset) const { return events_.at(static_cast<std::size_t>(offset)); }
  bool is_pending(std::int64_t offset) const;
  /// It has a key, and is not retried in no order.
  bool has_order(std::int64_t offset) const;
  bool is_blocked(char key) const { return !lane_of(key).empty(); }
  bool is_parked(char key) const;
  /// Events of the log that are not leased, in order.
  std::vector<std::int64_t> unleased_log() const;
  /// First events of lanes that may be claimed.
  std::vector<std::int64_t> due_heads() const;
  std::vector<std::int64_t> due_unordered() const;
  std::vector<char> keys_with_lanes() const;
  /// No earlier event of the key is at the same place, in the log or in the lane, without an outcome. The events in
  /// `with` are decided together with this event.
  bool is_in_turn(std::int64_t offset, const std::set<std::int64_t>& with) const;
  /// All earlier events of the key have an outcome, or are in `with`.
  bool may_be_called(std::int64_t offset, const std::set<std::int64_t>& with) const;
  bool is_over() const;

  /// As the views show it: `OFFSET STATE ATTEMPTS` of each event; `KEY STATE WAITING HEAD ATTEMPTS DUE` of each lane.
  /// An event that is not the first of its lane has state `behind`: waiting, or due if it shares the row of the first.
  std::set<std::string> deliveries() const;
  std::multiset<std::string> lanes() const;

 private:
  Event& at(std::int64_t offset) { return events_.at(static_cast<std::size_t>(offset)); }
  std::vector<std::int64_t> lane_of(char key) const;
  std::vector<std::int64_t> open_before(std::int64_t offset, const std::set<std::int64_t>& with) const;
  void put_in_lane(std::int64_t offset, Due due, int attempts);
  void come_back(std::int64_t offset);
  void advance();
  std::string state_of(std::int64_t offset) const;

  const config::OnFailure on_failure_;
  std::vector<Event> events_;  ///< by offset
};

}  // namespace inboxd::support
