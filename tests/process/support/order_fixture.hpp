#pragma once
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "process/support/keyed_events.hpp"

namespace inboxd::support {

/// A fixture with a handler that keeps order; `more` are further keys of the handler in YAML.
struct OrderFixture : DaemonFixture {
  explicit OrderFixture(int partitions, std::vector<std::string> more = {}, const std::string& database_url = "")
      : DaemonFixture{partitions, database_url} {
    config.handlers[0].more = {"mode: sequential", "events_per_call: 1"};
    for (std::string& line : more) config.handlers[0].more.push_back(std::move(line));
  }

  KeyedEvents events{*this};
};

}  // namespace inboxd::support
