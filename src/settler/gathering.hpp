#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "event/offsets.hpp"
#include "inbox/settle.hpp"
#include "settler/run.hpp"

namespace inboxd::settler {

/// A settlement and what it stands for, in events.
struct Gathered {
  inbox::Settlement settlement;
  std::int64_t done = 0;
  std::int64_t retried = 0;
  std::int64_t dead = 0;
  std::int64_t events() const { return done + retried + dead; }
};

/// What was reported of one run and is not recorded yet. Reports of done events cost the same however many they are.
/// A value: no lock, no database. Used by the settler, and by whoever settles inside a transaction of its own.
class Gathering {
 public:
  explicit Gathering(std::shared_ptr<Run> run) : run_{std::move(run)} {}

  void add(Report report);

  std::size_t events() const { return events_; }
  /// Whether every event of the run has been reported: nothing to wait for.
  bool complete() const { return run_->recorded + events_ == run_->size(); }
  const std::shared_ptr<Run>& run() const { return run_; }

  /// The settlement of all that was gathered; nothing is gathered afterwards. Events that failed alike are one group:
  /// they share the random number, and so the time at which they are due.
  Gathered take(double random01);

 private:
  std::shared_ptr<Run> run_;
  event::OffsetSet done_;          ///< of indexes into the run's events, not of offsets
  std::vector<Failed> failed_;
  std::size_t events_ = 0;
};

}  // namespace inboxd::settler
