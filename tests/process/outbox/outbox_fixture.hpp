#pragma once
#include <cstdint>
#include <string>

#include "process/support/daemon_fixture.hpp"

namespace inboxd::support {

/// A daemon that reads the topic to which the tests publish: `received` are the stored messages, `records` the
/// topic's records with repetitions.
struct OutboxFixture : DaemonFixture {
  explicit OutboxFixture(int partitions = 2) : DaemonFixture{partitions} {
    config.sections["outbox"] = "lease: 2s, retry: 1s";
    migrate();
  }

  /// Publishes `count` messages in a single statement: key k0 to k9, payload {"n": i} from `first` on.
  void publish(int count, int first = 0) {
    database.run("select inbox.publish($1, 'k' || i % 10, jsonb_build_object('n', i)) from generate_series($2::int, "
                 "$3::int) i",
                 {topic, std::to_string(first), std::to_string(first + count - 1)});
  }
  void publish(const std::string& to, const std::string& key, const std::string& payload) {
    database.run("select inbox.publish($1, convert_to($2, 'UTF8'), convert_to($3, 'UTF8'))", {to, key, payload});
  }
  std::int64_t received() { return database.number("select count(*) from inbox.event"); }
  std::int64_t left() {
    return database.number("select (select count(*) from inbox.outbox) + (select count(*) from inbox.outbox_waiting)");
  }
  void wait_received(std::int64_t wanted, milliseconds within = patience) {
    database.wait_for("messages arrive", "select count(*) from inbox.event", wanted, within);
  }
  void wait_empty() {
    database.wait_for("the outbox is empty",
                      "select (select count(*) from inbox.outbox) + (select count(*) from inbox.outbox_waiting)", 0);
  }
  std::int64_t records() {
    std::int64_t out = 0;
    for (const auto& [partition, end] : kafka.ends(topic)) out += end;
    return out;
  }
  /// Messages that a later message of their key overtook.
  std::int64_t out_of_order() {
    return database.number(
        "select count(*) from (select n < lag(n) over (partition by key, shard_id order by \"offset\") as late from ("
        "select key, shard_id, \"offset\", (convert_from(payload, 'UTF8')::jsonb ->> 'n')::int as n from inbox.event "
        "where key is not null) e) t where late");
  }
};

}  // namespace inboxd::support
