#pragma once
#include <string>
#include <vector>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "process/support/keyed_events.hpp"

namespace inboxd::support {

/// A batch handler `batch` with a single statement, which writes each event to app.applied and each call to app.calls:
/// its events, keys, first and last offset. `windows` are the keys of `batch`, `more` further keys of the handler in
/// YAML.
struct BatchFixture : DaemonFixture {
  explicit BatchFixture(const std::string& windows, std::vector<std::string> more = {}, int partitions = 1)
      : DaemonFixture{partitions} {
    app.create_table();
    app.run(
        "create table app.calls (call bigint generated always as identity, events bigint, keys bigint, "
        "first_offset bigint, last_offset bigint, called_at timestamptz default clock_timestamp())");
    more.insert(more.begin(), {"mode: batch", "batch: {" + windows + "}"});
    config.handlers = {app.statement("batch",
                                     "with call as (insert into app.calls (events, keys, first_offset, last_offset) "
                                     "select count(*), count(distinct key), min(\"offset\"), max(\"offset\") "
                                     "from events) "
                                     "insert into app.applied select event_id from events",
                                     std::move(more))};
  }

  /// `handlers run`: closes the window now.
  void close_window() {
    const auto done = command(config, {"handlers", "run", "batch", "--yes"});
    if (done.status != ExitStatus{0, 0}) throw std::runtime_error{"handlers run: " + done.out + done.err};
  }
  void wait_applied(std::int64_t wanted) {
    app.wait_for("events are applied", "select count(*) from app.applied", wanted);
  }
  /// The calls in their order: number of events, first and last offset.
  std::string calls() {
    return app.text(
        "select string_agg(events || ': ' || first_offset || '-' || last_offset, ', ' order by call) from app.calls");
  }
  std::int64_t window(const std::string& column) {
    return app.number("select " + column + "::bigint from inbox.batch_window");
  }

  Application app{database};
  KeyedEvents events{*this};
};

}  // namespace inboxd::support
