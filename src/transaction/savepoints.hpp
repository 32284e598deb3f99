#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inboxd::transaction {

/// The savepoints of a transaction: a savepoint around each call, and the savepoints that the handler sets. Pure; not
/// thread-safe.
///
/// Sends nothing itself. take_pending() and take_new() return the commands to send before the next statement, in its
/// round trip. A savepoint without a statement costs nothing.
class Savepoints final {
 public:
  /// A call begins; the writes of the previous call stay. `alone`: the only call of the transaction needs no savepoint.
  void begin_call(bool alone, bool has_failed);
  /// Releases the savepoints that the handler left open. The call's own stays: the call may still be undone.
  void release_handlers();
  /// Undoes the call. False: it has no savepoint, so roll the whole transaction back.
  bool undo_call();

  /// Returns the savepoint's number, above 0. `has_failed`: an earlier statement failed, so rolling back to it is no
  /// cure.
  std::int32_t set(bool has_failed);
  /// Whether it belongs to the handler of the running call.
  bool is_handlers(std::int32_t number) const { return number >= first_; }
  /// Releases it and all later savepoints. No effect if it does not exist.
  void release(std::int32_t number, bool has_failed);
  /// Rolls back to it and releases it. True: this undid the failure of a statement, too.
  bool roll_back_to(std::int32_t number);

  /// The commands to send, in order. They count as sent.
  std::vector<std::string> take_pending();
  std::vector<std::string> take_new();
  bool has_pending() const { return !pending_.empty(); }
  /// The transaction has ended. `then` is the next command to send; empty: none.
  void reset(const char* then = "");

 private:
  struct Point {
    std::int32_t number = 0;
    bool is_sent = false;
    bool is_after_failure = false;
  };
  std::vector<Point>::iterator find(std::int32_t number);

  std::vector<Point> points_;  ///< by number
  std::int32_t last_ = 0;      ///< the last number given
  std::int32_t first_ = 1;     ///< the first number of the running call's handler
  std::int32_t call_ = 0;      ///< the number of the call's own savepoint; 0: none
  std::vector<std::string> pending_;
};

}  // namespace inboxd::transaction
