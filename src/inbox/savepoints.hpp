#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inboxd::inbox {

/// The savepoints of a transaction: one around each call, and those that its handler sets. Nothing is sent here: what
/// is to be sent before the next statement is given by take_pending() and take_new(), so that all of it shares that
/// statement's round trip, and a savepoint that nothing was run in costs nothing. Pure; one thread.
class Savepoints final {
 public:
  /// A call begins: what the call before wrote stays. `alone`: the transaction is this call's, it needs no savepoint.
  void begin_call(bool alone, bool has_failed);
  /// What the call's handler left open is released; the call's own stays until it is known that the call is kept.
  void release_handlers();
  /// What the call did is undone. False: it has no savepoint of its own, the whole transaction is to be rolled back.
  bool undo_call();

  /// Returns its number, above 0. `has_failed`: a statement before it failed, and rolling back to it does not help.
  std::int32_t set(bool has_failed);
  /// Whether the running call's handler may name it.
  bool is_handlers(std::int32_t number) const { return number >= first_; }
  /// With all that were set after it. Without effect where there is none of that number.
  void release(std::int32_t number, bool has_failed);
  /// The same, with what was done since. True: so is the failure of a statement.
  bool undo(std::int32_t number);

  /// In their order. What was not sent yet counts as sent.
  std::vector<std::string> take_pending();
  std::vector<std::string> take_new();
  bool has_pending() const { return !pending_.empty(); }
  /// The transaction has ended. `then` is to be sent before anything else; empty: nothing.
  void forget(const char* then = "");

 private:
  struct Point {
    std::int32_t number = 0;
    bool is_sent = false;
    bool is_behind_failure = false;
  };
  std::vector<Point>::iterator find(std::int32_t number);

  std::vector<Point> points_;  ///< by number
  std::int32_t last_ = 0;      ///< number that was given
  std::int32_t first_ = 1;     ///< that is the handler's
  std::int32_t call_ = 0;      ///< of the call, until it is kept or undone; 0: it has none
  std::vector<std::string> pending_;
};

}  // namespace inboxd::inbox
