#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>

/// How much a handler may have in flight: a budget of bytes shared by all handlers, its own speed, and reserved room.
namespace inboxd::dispatcher {

/// A limit shared by all handlers, in bytes. Half of it is divided evenly, so that no handler starves another; the
/// other half is common to all. Any thread.
class Budget final {
 public:
  explicit Budget(std::int64_t limit) : limit_{limit} { divide(1); }

  /// Sets the number of handlers.
  void divide(int handlers);
  std::int64_t limit() const { return limit_; }
  std::int64_t share() const { return share_.load(); }

  /// The part of the common half that a handler uses if it holds `held`. The handler reports changes with `use`.
  std::int64_t common_part(std::int64_t held) const;
  void use(std::int64_t change) { used_ += change; }

  /// The rest for a handler that holds `held`.
  std::int64_t left_for(std::int64_t held) const;

 private:
  const std::int64_t limit_;
  std::atomic<std::int64_t> share_{0};
  std::atomic<std::int64_t> common_{0};
  std::atomic<std::int64_t> used_{0};
};

/// `dispatch.in_hand_events`, for each handler, and `dispatch.in_hand_bytes`, of the process.
struct Budgets {
  Budgets(std::int64_t events_limit, std::int64_t bytes_limit) : events{events_limit}, bytes{bytes_limit} {}
  void divide(int count) {
    handlers = count;
    bytes.divide(count);
  }
  std::atomic<int> handlers{1};
  const std::int64_t events;
  Budget bytes;
};

struct RoomState {
  std::int64_t target = 0;       ///< about a second of the handler's work
  std::int64_t minimum = 0;      ///< concurrency * events_per_call: always allowed, if the bytes allow it
  std::int64_t held = 0;         ///< events in flight, reserved or being claimed
  std::int64_t events_left = 0;  ///< of the limits
  std::int64_t bytes_left = 0;
  std::int64_t bytes_per_event = 1;
};

/// The events that a handler may take. At least 1 if it holds none, even beyond the limits: no event is too large.
std::int64_t free_room(const RoomState& state);

/// The speed of a handler, from its recent calls. It decides how many events the handler has in flight and how many a
/// worker takes at once. Recent means the last quarter of a second of work, so a handler that turns slow shows at once.
/// Pure.
class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  struct Limits {
    /// In flight while the speed is unknown: a large batch of ingest, so that a fast handler begins without a backlog.
    /// A slow one shows with its first calls.
    std::int64_t start_events = 2048;
    std::int64_t growth = 16;        ///< events in flight: at most this multiple of the recent events
    double half_life_seconds = 0.25;
    double in_flight_seconds = 1.0;
    double batch_seconds = 0.001;        ///< of work that a worker takes from the queue at once
    double transaction_seconds = 0.025;  ///< where calls share transactions: COMMIT is expensive
    double alone_seconds = 0.000'25;     ///< less work is not worth waking a second worker
  };

  /// Calls that have not returned yet. Their age shows early that a handler is slow.
  struct Running {
    std::int64_t events = 0;
    Duration elapsed{0};  ///< sum over the calls
  };

  Pace(int concurrency, std::int64_t events_per_call, Limits limits);
  Pace(int concurrency, std::int64_t events_per_call) : Pace{concurrency, events_per_call, Limits{}} {}

  /// A worker was busy that long with that many events.
  void worked(std::int64_t events, Duration busy);
  void note_running(Running running) { running_ = running; }
  /// New settings after a reload; the measured speed stays.
  void configure(int concurrency, std::int64_t events_per_call);

  std::int64_t workers() const { return concurrency_; }
  std::int64_t minimum() const { return concurrency_ * events_per_call_; }
  /// Events to have in flight: about a second of work, at least the minimum.
  std::int64_t target() const;
  /// Events that a worker takes from a queue: whole calls, about a millisecond of work, an even part of a short queue.
  std::int64_t batch_size(std::int64_t queued) const { return batch_size(queued, limits_.batch_seconds); }
  /// The size of a batch where calls share transactions: about 25 milliseconds of work.
  std::int64_t batch_size_in_transactions(std::int64_t queued) const {
    return batch_size(queued, limits_.transaction_seconds);
  }
  /// Events a second with all workers busy; 0 while unknown.
  double per_second() const;

 private:
  double seconds_per_event() const;
  std::int64_t batch_size(std::int64_t queued, double seconds) const;
  std::int64_t events_in(double seconds) const;
  std::int64_t whole_calls(std::int64_t events) const;

  std::int64_t concurrency_;
  std::int64_t events_per_call_;
  Limits limits_;
  double events_ = 0;  ///< both decay with their half-life
  double seconds_ = 0;
  Running running_;
};

/// Room reserved by ingest transactions that are not committed yet, and the earliest end of the leases that they will
/// insert: the time of the reservation plus the lease granted then, even if a reload has changed it since. An ingest
/// thread reserves, hands over and releases by itself, so the thread is the key. Pure.
class Reservations {
 public:
  using Clock = std::chrono::steady_clock;

  void reserve(std::thread::id thread, std::int64_t events, std::int64_t bytes, Clock::time_point lease_end);

  /// Ends that part of a reservation, at most all of it. Returns the end of the lease; nullopt: nothing is reserved.
  /// A thread without a reservation ends the reservation with the earliest lease end, which errs on the safe side.
  std::optional<Clock::time_point> end(std::thread::id thread, std::int64_t events);

  std::int64_t events() const { return events_; }
  /// An estimate in proportion to the events; the real size is counted when a run is handed over.
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Reservation {
    std::int64_t events = 0;
    Clock::time_point lease_end;
  };
  std::map<std::thread::id, Reservation> reservations_;
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace inboxd::dispatcher
