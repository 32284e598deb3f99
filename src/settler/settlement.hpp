#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/settings.hpp"
#include "event/offset_set.hpp"
#include "event/verdict.hpp"
#include "inbox/settle.hpp"
#include "settler/run.hpp"

/// From verdicts to a settlement: values and pure functions, no clock, no lock, no database.
namespace inboxd::settler {

struct Done {
  bool operator==(const Done&) const = default;
};
struct RetryIn {
  std::chrono::milliseconds delay{0};
  bool operator==(const RetryIn&) const = default;
};
struct Dead {
  bool operator==(const Dead&) const = default;
};
struct Expired {
  bool operator==(const Expired&) const = default;
};
using Transition = std::variant<Done, RetryIn, Dead, Expired>;

/// The transition of an event after a verdict; skipped events have none. `attempts` counts the failures settled before:
/// this was attempt `attempts + 1`. A delay that the handler asked for gets no jitter and no cap. `left`: until the
/// event expires.
Transition transition_for(const event::Verdict& verdict, std::int32_t attempts, const config::Retry& retry,
                          double random01, std::optional<std::chrono::milliseconds> left = std::nullopt);

/// The time until an event of the run expires, not positive if it has; nullopt: it never does. By the time it occurred,
/// else when it was stored; by its `deliver_at`, if that is later.
std::optional<std::chrono::milliseconds> left_of(const Run& run, std::size_t index, event::Microseconds now);

/// The wait after failed attempt number `attempt` (1 = the first): the policy's growth, its cap, then its jitter, so
/// at most cap * (1 + jitter). `random01` is in [0, 1).
std::chrono::milliseconds backoff_for(const config::Retry& retry, std::int32_t attempt, double random01);

/// A random number for the jitter of retries; need not be hard to guess. Any thread.
double random01();

/// The events of a settlement by outcome.
struct EventCounts {
  std::int64_t done = 0;
  std::int64_t retried = 0;
  std::int64_t deferred = 0;  ///< at the handler's wish, or until their time: neither a success nor a failure
  std::int64_t dead = 0;
  std::int64_t expired = 0;
  std::int64_t skipped = 0;
  std::int64_t waiting = 0;  ///< in their lane, or parked
  std::int64_t events() const { return done + retried + deferred + dead + expired + skipped + waiting; }
};

struct RunSettlement {
  inbox::Settlement settlement;
  EventCounts counts;
  KeyEffects keys{};  ///< in a sequence
};

/// Collects the reports of a run and makes a settlement of them. A report of done events costs the same for a single
/// event as for a thousand. Used by the settler, and by workers that settle inside a transaction.
class SettlementBuilder {
 public:
  explicit SettlementBuilder(std::shared_ptr<Run> run) : run_{std::move(run)} {}

  void add(Report report);

  std::size_t events() const { return events_; }
  /// Every event of the run has been reported.
  bool complete() const { return run_->recorded + events_ == run_->size(); }
  const std::shared_ptr<Run>& run() const { return run_; }

  /// The settlement of all reports added so far; the builder is empty afterwards. Events that failed alike form a group
  /// with a single random number, and so a common due time.
  RunSettlement take(double random01);

 private:
  void settle_failed(FailedEvent& failed, double random01, RunSettlement& out);
  void retry(const FailedEvent& failed, RetryIn retry, RunSettlement& out);
  void defer(FailedEvent& deferred, double random01, RunSettlement& out);
  void postpone(const FailedEvent& early, RunSettlement& out);
  void dead(const FailedEvent& failed, RunSettlement& out);
  void expired(const FailedEvent& failed, RunSettlement& out);
  void skip(const FailedEvent& skipped, RunSettlement& out);
  void wait(const FailedEvent& failed, RunSettlement& out);
  std::optional<inbox::FailedKey> key_of(std::size_t index) const;

  std::shared_ptr<Run> run_;
  std::vector<std::optional<std::string>> group_classes_;  ///< of `take`: set where the handler asked for the delay
  event::OffsetSet done_;                                  ///< indexes into the run's events, not offsets
  std::vector<FailedEvent> failed_;
  std::size_t events_ = 0;
};

}  // namespace inboxd::settler
