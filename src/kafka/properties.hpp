#pragma once
#include <map>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// What a client is made of: the daemon's own settings and the user's properties.
struct ClientSettings {
  std::string brokers;
  std::string group;                           ///< empty: no group (for looking things up only)
  std::string instance_id;
  std::map<std::string, std::string> properties;
  std::size_t queued_bytes = 0;                ///< the most bytes of fetched messages one queue holds; 0: the library's
  int queued_events = 0;                       ///< the most of them; 0: the library's
};

/// The library's configuration: the user's properties first, then what the daemon relies on (manual store and commit,
/// read_committed, no automatic reset, CRC checks, Kafka's own topics hidden from patterns). The problem names the
/// property that the library refuses.
base::Result<Conf> make_conf(const ClientSettings& settings);

/// A consumer handle. `opaque` comes back in callbacks that were set on the configuration.
base::Result<Client> make_consumer(Conf conf);

/// The library's version as text and as a number (0x020a01ff is 2.10.1).
std::string library_version();
int library_version_number();

/// cooperative-sticky with manual commits is sound from 2.10.1 on, the group protocol `consumer` from 2.15 on: says
/// what is wrong, or nothing.
std::string assignment_problem(const std::map<std::string, std::string>& properties);

}  // namespace inboxd::kafka
