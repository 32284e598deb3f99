#pragma once
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>

#include "integration/support/inbox.hpp"

/// Dead letters for tests.
namespace inboxd::support {

/// Claims all that is due; every event is dead-lettered.
inline void fail_due(Inbox& inbox, std::int32_t handler, const std::string& error_class = "timeout.read") {
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    for (const auto* event : run.events) {
      settlement.failures.push_back({event->event_id, 1, error_class, "no answer from mail", milliseconds{12}});
      settlement.dead.push_back({event->offset, event->event_id});
    }
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  }
}

/// A handler that dead-lettered events of a shard, in a single run.
inline std::int32_t add_dead_letters(Inbox& inbox, int events, const std::string& name = "receipt",
                                     const std::string& topic = "orders",
                                     const std::string& error_class = "timeout.read") {
  const auto handler = inbox.add_handler(name, {topic});
  Batch batch{inbox};
  batch.at(inbox.add_shard(topic), 0).events(events, "{\"order\": 7}", "OrderPlaced").deliver_to(handler);
  batch.store(inbox.connection());
  fail_due(inbox, handler, error_class);
  return handler;
}

inline std::int64_t dead_letters(Inbox& inbox) {
  return inbox.database().number("select count(*) from inbox.dead_letter");
}

/// Deletes all events, as after their retention.
inline void drop_events(Inbox& inbox) { inbox.database().run("delete from inbox.event"); }

inline std::string pending(Inbox& inbox) {
  return inbox.database().text(
      "select coalesce(string_agg(pending::text, ' ' order by delivery_id), '') from inbox.delivery");
}

}  // namespace inboxd::support
