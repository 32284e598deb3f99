#include "inbox/handlers.hpp"

#include <algorithm>

#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

/// How long a new handler waits for running ingest transactions before it gives way to those that come after it.
constexpr const char* routing_lock_timeout = "10s";
/// A bite of history is no heavier than a batch.
constexpr std::int64_t backfill_bite_bytes = 8 << 20;

std::vector<std::string> texts(const pqxx::field& field) {
  const auto array = field.as_sql_array<std::string>();
  return {array.cbegin(), array.cend()};
}

ArrayParameter array_of(const std::vector<std::string>& list) {
  ArrayParameter out{Type::text};
  for (const std::string& text : list) out.add(text);
  return out;
}

std::string start_text(const config::StartAt& start) {
  switch (start.kind) {
    case config::StartAt::Kind::beginning: return "beginning";
    case config::StartAt::Kind::time: return "time " + std::to_string(start.time_us);
    default: return "now";
  }
}

/// Makes one handler's row say what the configuration says; true where routing changes by it.
bool put_handler(Connection::Access& access, pqxx::work& tx, const config::Handler& handler) {
  auto aliases = array_of(handler.aliases), topics = array_of(handler.topics), types = array_of(handler.types);
  const auto alias_bytes = aliases.finish(), topic_bytes = topics.finish(), type_bytes = types.finish();
  const auto found = access.run_in(tx, statements::find_handler, pqxx::params{handler.name, alias_bytes});
  if (found.empty()) {
    const auto id = access.run_in(tx, statements::insert_handler,
                                  pqxx::params{handler.name, alias_bytes, topic_bytes, type_bytes,
                                               start_text(handler.start)})[0][0].as<int>();
    if (handler.start.kind == config::StartAt::Kind::beginning || handler.start.kind == config::StartAt::Kind::time) {
      std::optional<std::int64_t> from;
      if (handler.start.kind == config::StartAt::Kind::time) from = handler.start.time_us;
      access.run_in(tx, statements::owe_history, pqxx::params{id, topic_bytes, from});
    }
    return true;
  }
  const auto row = found[0];
  const bool same = row[1].view() == handler.name && texts(row[2]) == handler.aliases &&
                    texts(row[3]) == handler.topics && texts(row[4]) == handler.types && !row[5].as<bool>();
  if (same) return false;
  access.run_in(tx, statements::update_handler,
                pqxx::params{row[0].as<int>(), handler.name, alias_bytes, topic_bytes, type_bytes});
  return true;
}

bool matches_one(std::string_view name, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace

Routing read_routing(Connection& connection) {
  Routing out;
  for (const auto& row : connection.access().run(statements::read_routing, {}, Effect::reads)) {
    out.version = row[0].as<std::int64_t>();
    if (row[1].is_null()) continue;
    out.handlers.push_back({row[1].as<std::int32_t>(), row[2].as<std::string>(), texts(row[3]), texts(row[4]),
                            row[5].as<std::optional<std::string>>()});
  }
  return out;
}

bool matches(std::string_view name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return matches_one(name, pattern); });
}

void register_handlers(Connection& connection, const std::vector<config::Handler>& handlers) {
  auto& access = connection.access();
  access.transaction([&](pqxx::work& tx) {
    access.run_in(tx, statements::set_lock_timeout, pqxx::params{routing_lock_timeout});
    access.run_in(tx, statements::lock_routing, {});
    bool changed = false;
    for (const config::Handler& handler : handlers) changed |= put_handler(access, tx, handler);
    if (changed) access.run_in(tx, statements::next_routing_version, {});
    return true;
  });
}

std::int64_t backfill_bite(Connection& connection, int bite_events) {
  return connection.access()
      .run(statements::backfill_bite, pqxx::params{bite_events, backfill_bite_bytes})[0][0]
      .as<std::int64_t>();
}

}  // namespace inboxd::inbox
