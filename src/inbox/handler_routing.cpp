#include "inbox/handler_routing.hpp"

#include <algorithm>

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

bool matches_one(std::string_view name, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

/// nullopt: a mode of a later version. Its handler gets its events in no order here, and the daemon that has it
/// configured puts their rows right (find_misplaced); to store nothing would stop all handlers.
std::optional<Subscription::Order> order_of(std::string_view mode, std::string_view scope) {
  using enum Subscription::Order;
  if (mode == "single") return none;
  if (mode == "batch" || (mode == "sequential" && scope == "handler")) return of_handler;
  if (mode == "sequential" && scope == "partition") return of_partition;
  return std::nullopt;
}

}  // namespace

Routing read_routing(Connection& connection) {
  Routing out;
  const auto rows = connection.access().run(statements::read_routing, {}, Effect::reads);
  if (!rows.empty() && !rows[0][8].is_null()) {
    const auto generations = numbers_of<std::int32_t>(rows[0][8].view());
    const auto keys = numbers_of<std::int64_t>(rows[0][9].view());
    for (std::size_t i = 0; i < generations.size(); ++i) out.frozen.push_back({generations[i], keys.at(i)});
  }
  for (const auto& row : rows) {
    out.version = row[0].as<std::int64_t>();
    if (row[1].is_null()) continue;
    const auto order = order_of(row[6].view(), row[7].view());
    out.handlers.push_back({row[1].as<std::int32_t>(), row[2].as<std::string>(), texts_of(row[3]), texts_of(row[4]),
                            row[5].as<std::optional<std::string>>(), order.value_or(Subscription::Order::none),
                            row[6].view() == "batch"});
    if (!order) out.of_unknown_mode.push_back(row[2].as<std::string>());
  }
  return out;
}

HandlerVersions read_handler_versions(Connection& connection) {
  HandlerVersions out;
  for (const auto& row : connection.access().run(statements::handler_versions, {}, Effect::reads)) {
    out[row[0].as<std::int32_t>()] = row[1].as<std::int64_t>();
  }
  return out;
}

bool matches(std::string_view name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return matches_one(name, pattern); });
}

std::set<std::int32_t> retired_handlers(Connection& connection, const std::set<std::int32_t>& handler_ids) {
  std::set<std::int32_t> out;
  if (handler_ids.empty()) return out;
  ArrayParameter ids{ArrayParameter::Type::int4};
  for (const std::int32_t id : handler_ids) ids.add(id);
  for (const auto& row :
       connection.access().run(statements::retired_handlers, pqxx::params{ids.finish()}, Effect::reads)) {
    out.insert(row[0].as<std::int32_t>());
  }
  return out;
}

}  // namespace inboxd::inbox
