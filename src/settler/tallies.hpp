#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/histogram.hpp"
#include "inbox/settle.hpp"
#include "settler/run.hpp"

namespace inboxd::settler {

/// What became of events, by handler, since the start: for metrics. Any thread that records outcomes notes them here,
/// once for a whole settlement.
class Tallies final {
 public:
  /// Of one handler. Classes of errors beyond the first hundred are `other`: handlers name them.
  struct Tally {
    std::uint64_t done = 0;
    std::uint64_t retried = 0;
    std::uint64_t dead = 0;
    std::uint64_t leases_lost = 0;
    std::map<std::string, std::uint64_t> failures;  ///< by class of error
    base::Histogram::Snapshot end_to_end;           ///< seconds from the record's time in Kafka to `done` recorded
  };

  void recorded(const Run& run, const inbox::Settlement& settlement, std::int64_t done, std::int64_t retried,
                std::int64_t dead);
  void lease_lost(std::int32_t handler_id);

  std::map<std::int32_t, Tally> all() const;

 private:
  struct Kept {
    Tally tally;
    base::Histogram end_to_end{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1'800, 14'400, 86'400};
  };
  Kept& kept(std::int32_t handler_id);

  mutable std::mutex mutex_;  // guards the following
  std::map<std::int32_t, std::unique_ptr<Kept>> kept_;
};

}  // namespace inboxd::settler
