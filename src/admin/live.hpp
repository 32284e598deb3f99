#pragma once
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "config/load.hpp"

namespace inboxd::admin {

/// What a health check asks.
enum class Probe { live, ready, started };
struct Health {
  bool is_well = true;
  std::vector<std::string> reasons;  ///< sentences; why not, or what is to be known although it is
};

/// The running daemon, as the port sees it. Any thread; nothing here waits for the database or the brokers.
class Live {
 public:
  virtual ~Live() = default;
  virtual Health health(Probe probe) const = 0;
  /// Metrics in Prometheus's text format.
  virtual std::string metrics() const = 0;
  /// What only this process knows: partitions, what is in hand, what is paused.
  virtual Document describe() const = 0;
  /// The configuration that is in force, and the places in the file that said so; secrets are in it.
  virtual config::Loaded in_force() const = 0;
  /// Takes nothing new for any handler in this instance, or goes on; in the audit as the deed of `actor` as soon as the
  /// database takes that, which may be away. False: it does so already, or is not running yet.
  virtual bool pause_all(bool paused, const std::string& actor) = 0;
};

}  // namespace inboxd::admin
