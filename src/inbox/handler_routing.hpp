#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/generations.hpp"

namespace inboxd::inbox {

/// A registered handler, as ingest routes to it. Any instance may have configured it.
struct Subscription {
  std::int32_t handler_id = 0;
  std::string name;
  std::vector<std::string> topics;  ///< exact, or a prefix with * at the end; empty: all
  std::vector<std::string> types;
  std::optional<std::string> paused_reason;
  enum class Order { none, of_partition, of_handler };
  Order order = Order::none;
  bool collects = false;  ///< in the windows of mode batch
};

/// All registered handlers and the ledger's frozen generations, under a single version.
struct Routing {
  std::int64_t version = 0;
  std::vector<Subscription> handlers;
  std::vector<std::string> of_unknown_mode{};  ///< handlers whose mode only a later version knows
  std::vector<FrozenGeneration> frozen{};
};

Routing read_routing(Connection& connection);

/// By handler id, retired handlers included: the routing version under which the handler was last changed.
using HandlerVersions = std::map<std::int32_t, std::int64_t>;

HandlerVersions read_handler_versions(Connection& connection);

/// Whether a list of exact names and prefixes contains the name. As SQL's inbox.matches.
bool matches(std::string_view name, const std::vector<std::string>& patterns);

/// The ids among these that are retired.
std::set<std::int32_t> retired_handlers(Connection& connection, const std::set<std::int32_t>& handler_ids);

}  // namespace inboxd::inbox
