#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

/// Whether live daemons and the database agree about the handlers.
namespace inboxd::operations {

/// A handler as a live daemon configures it, and as its row in the database has it: by the newest registration.
struct RegisteredHandler {
  std::int32_t handler_id = 0;
  std::string handler;
  std::vector<std::string> topics;  ///< of the row; empty: all
  std::string order;                ///< of the row (config::order_text)
  event::Microseconds changed_at = 0;
  base::Uuid instance_id;
  Worker worker;
  std::string version;
  std::chrono::microseconds since{0};  ///< the daemon's last registration
  std::string own_order;
  std::vector<std::string> own_topics;
  std::map<std::string, std::string> keys;  ///< digests of its other settings

  bool has_other_order() const { return own_order != order; }
  /// Topics that this daemon subscribes the handler to, and the row does not. `*`: all.
  std::vector<std::string> lost_topics() const;
};
/// By handler, the newest registration first.
std::vector<RegisteredHandler> read_registered(inbox::Connection& connection);

/// Topics of `wanted` that `topics` do not cover; both as in handlers[].subscribe.topics. `*`: all topics.
std::vector<std::string> topics_without(const std::vector<std::string>& wanted, const std::vector<std::string>& topics);

/// A time in which a handler did not subscribe to a topic that it has now, and which no back-fill has covered since.
struct SubscriptionGap {
  std::string handler;
  std::string topic;
  event::Microseconds from = 0;
  event::Microseconds to = 0;
};
/// Of the last day.
std::vector<SubscriptionGap> read_gaps(inbox::Connection& connection);

/// `inboxd handlers backfill receipt --from … --to … --topic orders`, with whole seconds around the times.
std::string backfill_command(const std::string& handler, event::Microseconds from, event::Microseconds to,
                             const std::vector<std::string>& topics);

/// `vm (process 5078)`
std::string name_of(const Worker& worker);

}  // namespace inboxd::operations
