#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace inboxd::dispatcher {

/// The times at which retries of this instance are due, so that it claims them in time. Times close together are
/// merged. Beyond the limit the latest are dropped: polling finds their deliveries. Pure.
class DueTimes {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds together{20};
  static constexpr std::size_t limit = 1024;

  void add(Clock::time_point due) {
    const auto step = std::chrono::duration_cast<Clock::duration>(together).count();
    const auto rounded = (due.time_since_epoch().count() / step + 1) * step;
    times_.insert(Clock::time_point{Clock::duration{rounded}});
    if (times_.size() > limit) times_.erase(std::prev(times_.end()));
  }

  std::optional<Clock::time_point> next() const {
    return times_.empty() ? std::nullopt : std::optional{*times_.begin()};
  }

  /// Whether any time has come; removes the times that have come.
  bool take_due(Clock::time_point now) {
    const auto after = times_.upper_bound(now);
    const bool any = after != times_.begin();
    times_.erase(times_.begin(), after);
    return any;
  }

 private:
  std::set<Clock::time_point> times_;
};

/// When a handler claims due deliveries in no order, and how many: on its poll, when a retry is due, and while there
/// is a backlog. Pure.
class DueClaims final {
 public:
  using Clock = std::chrono::steady_clock;

  explicit DueClaims(std::chrono::milliseconds poll) : poll_{poll} {}

  /// Without a backlog.
  Clock::time_point next() const {
    const auto retry = retries_.next();
    return retry ? std::min(*retry, next_poll_) : next_poll_;
  }
  bool has_backlog() const { return backlog_; }
  void set_backlog(bool backlog) { backlog_ = backlog; }
  /// Ingest may hand events over. Retries that are due must not keep fresh events waiting.
  bool may_hand_over() const { return !backlog_ || only_retries_; }
  void poll_at(Clock::time_point now) { next_poll_ = now; }
  /// The handler looks with others whether something is due; poll_at() if there is.
  void look(Clock::time_point now) {
    retries_.take_due(now);
    next_poll_ = now + poll_;
  }

  /// Ingest stored events as due. True: a claim is due now.
  bool note_due(Clock::time_point now) {
    if (backlog_) return false;
    // If memory was full, the events were stored as due, and the handler has a backlog. Otherwise ingest planned it
    // while there still was a backlog.
    backlog_ = std::exchange(no_room_, false);
    next_poll_ = now;
    return true;
  }
  void note_stored() { ++due_notices_; }
  /// A reservation got less than it asked for.
  void note_no_room() { no_room_ = true; }
  /// True: the next claim is earlier.
  bool add_retry(Clock::time_point due) {
    const auto before = retries_.next();
    retries_.add(due);
    return before != retries_.next();
  }

  /// Begins a claim: the number of events. `held`: in memory. `minimum`: calls of all workers.
  std::int64_t begin(Clock::time_point now, std::int64_t free, std::int64_t held, std::int64_t minimum) {
    retries_.take_due(now);
    next_poll_ = now + poll_;
    due_notices_before_ = due_notices_;
    // Without a backlog of fresh events, the claim leaves half of the room to events that ingest hands over meanwhile.
    const std::int64_t at_once = std::max((held + free) / claims_in_flight, minimum);
    const std::int64_t half = std::max<std::int64_t>(free / 2, 1);
    return !backlog_ ? half : std::min({free, at_once, only_retries_ ? half : free});
  }
  /// The rows that it looks at.
  int rows(std::int64_t events) const { return static_cast<int>(std::min<std::int64_t>(rows_, events)); }

  struct Found {
    bool all_events = false;  ///< as many as it asked for
    int rows_asked = 0;
    int rows_locked = 0;
    bool more = false;          ///< further deliveries may be due for another reason
    bool only_retries = false;  ///< among the deliveries found
  };
  /// Events stored as due during the claim are few: the next poll takes them, while ingest hands over again. If they
  /// counted as a backlog, a busy topic would never leave it.
  void end(const Found& found, Clock::time_point now) {
    backlog_ = found.all_events || found.rows_locked >= found.rows_asked || found.more;
    only_retries_ = found.only_retries;
    if (found.rows_locked >= found.rows_asked && !found.all_events && found.rows_asked == rows_) {
      rows_ = std::min(rows_ * 2, max_rows);
    } else if (found.rows_locked < rows_ / 4) {
      rows_ = std::max(rows_ / 2, min_rows);
    }
    if (due_notices_ != due_notices_before_) next_poll_ = now;
  }

 private:
  /// A claim asks for at most this part of the room: the workers handle a claim's events during the next claim.
  static constexpr std::int64_t claims_in_flight = 2;
  static constexpr int min_rows = 16;
  static constexpr int max_rows = 2'000;

  const std::chrono::milliseconds poll_;
  DueTimes retries_;
  Clock::time_point next_poll_{};
  bool backlog_ = true;        ///< until a claim has found less than it asked for
  bool only_retries_ = false;  ///< the backlog, as far as the last claim saw it
  bool no_room_ = false;       ///< a reservation got less than it asked for
  std::uint64_t due_notices_ = 0;
  std::uint64_t due_notices_before_ = 0;  ///< when the claim in progress began
  int rows_ = min_rows;                   ///< doubled while that is too few
};

}  // namespace inboxd::dispatcher
