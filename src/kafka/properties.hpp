#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// The daemon's settings of a client, and the user's properties.
struct ClientSettings {
  std::string brokers;
  std::string group;  ///< empty: no group, for queries only
  std::string instance_id;
  std::map<std::string, std::string> properties;
  std::size_t queued_bytes = 0;  ///< the most bytes of fetched messages in a queue; 0: the library's default
  int queued_events = 0;         ///< the most messages in a queue; 0: the library's default
  std::vector<std::string> hidden_topics = {};  ///< expressions that begin with ^
};

/// The library's configuration: the user's properties first, then the properties that the daemon relies on (manual
/// store and commit, read_committed, no automatic reset, CRC checks, Kafka's own topics hidden from patterns). The
/// problem names the property that the library refuses.
base::Result<Conf> make_conf(const ClientSettings& settings);

/// Sets a property of the user or the daemon; false, with the problem, if the library refuses it.
bool set_property(const Conf& conf, const char* name, const std::string& value, std::string& problem);

/// A consumer handle. The configuration's opaque pointer and callbacks stay in force.
base::Result<Client> make_consumer(Conf conf);

/// The library's version as text and as a number (0x020a01ff is 2.10.1).
std::string library_version();
int library_version_number();

/// Why the properties need a newer library, or empty. Cooperative-sticky assignment with manual commits is sound from
/// 2.10.1, the group protocol `consumer` from 2.15.
std::string assignment_problem(const std::map<std::string, std::string>& properties);

}  // namespace inboxd::kafka
