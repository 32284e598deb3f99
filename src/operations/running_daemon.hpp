#pragma once
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "config/load.hpp"
#include "event/record.hpp"
#include "history/series.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

enum class Probe { live, ready, started };
struct Health {
  bool is_well = true;
  std::vector<std::string> reasons;  ///< sentences: the failures, or warnings of a healthy daemon
};

/// The running daemon, as the admin port sees it. Any thread may call; no call waits for the database or the brokers.
class RunningDaemon {
 public:
  virtual ~RunningDaemon() = default;
  virtual Health health(Probe probe) const = 0;
  /// Metrics in Prometheus's text format.
  virtual std::string metrics() const = 0;
  /// State known to this process only: partitions, events in flight, pauses.
  virtual Document describe() const = 0;
  /// The figures that this process has kept; without names before the first step has ended.
  virtual history::View history(history::Span span) const = 0;
  /// What this process alone has seen, oldest first.
  virtual std::vector<history::Mark> marks() const = 0;
  struct Identity {
    base::Uuid instance_id;
    std::string host;
    event::Microseconds started_at = 0;
  };
  virtual Identity identity() const = 0;
  /// The configuration in force, with its places in the file and its secrets.
  virtual config::Loaded in_force() const = 0;
  /// Pauses or resumes all handlers of this instance. The maintenance thread records it in the audit once the database
  /// is reachable. False: paused or resumed already, or not running yet.
  virtual bool pause_all(bool paused, const std::string& actor) = 0;
};

}  // namespace inboxd::operations
