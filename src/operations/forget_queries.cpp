#include "operations/forget_queries.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/routing_lock.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Type = inbox::ArrayParameter::Type;

/// Events that a statement looks at: about 50 ms.
constexpr int events_looked_at = 20'000;
/// Rows that a transaction erases.
constexpr int max_erased = 500;

/// Runs a statement that changes rows which a replay reads. Its rows.
pqxx::result change(inbox::Connection& connection, const inbox::Statement& statement, const pqxx::params& parameters) {
  auto& access = connection.access();
  pqxx::result out;
  access.transaction([&](pqxx::work& tx) {
    inbox::share_routing(access, tx);
    access.run_in(tx, inbox::statements::op_dead_lock, pqxx::params{});
    out = access.run_in(tx, statement, parameters);
    return true;
  });
  return out;
}

}  // namespace

KeyedEvents find_by_key(inbox::Connection& connection, std::int32_t shard_id, std::int64_t behind,
                        const std::string& key) {
  KeyedEvents out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_forget_find,
                                           pqxx::params{shard_id, behind, pqxx::binary_cast(key), events_looked_at})) {
    inbox::RowReader row{found};
    out.last = row.maybe_int8();
    const auto offset = row.maybe_int8();
    if (!offset) break;
    const auto received_at = row.int8();
    out.events.push_back({shard_id, *offset, received_at, row.flag()});
  }
  return out;
}

Forgotten forget_events(inbox::Connection& connection, const std::string& actor,
                        const std::vector<KeyedEvent>& events) {
  inbox::ArrayParameter shard{Type::int4}, offset{Type::int8}, received{Type::timestamptz};
  for (const auto& event : events) {
    shard.add(event.shard_id);
    offset.add(event.offset);
    received.add_time(event.received_at);
  }
  const auto rows = change(connection, inbox::statements::op_forget_events,
                           pqxx::params{actor, shard.finish(), offset.finish(), received.finish()});
  Forgotten out;
  out.erased = rows[0][0].as<std::int64_t>();
  out.skipped = rows[0][1].as<std::int64_t>();
  const auto leased = rows[0][2].as_sql_array<std::int32_t>();
  for (auto i = leased.cbegin(); i != leased.cend(); ++i)
    out.leased.push_back(events.at(static_cast<std::size_t>(*i) - 1));
  return out;
}

std::int64_t forget_dead_letters(inbox::Connection& connection, const std::string& actor, const std::string& key) {
  return change(connection, inbox::statements::op_forget_dead,
                pqxx::params{actor, pqxx::binary_cast(key), max_erased})[0][0]
      .as<std::int64_t>();
}

Erased forget_rest(inbox::Connection& connection, const std::string& actor, const std::string& key) {
  const auto rows = change(connection, inbox::statements::op_forget_quarantine,
                           pqxx::params{actor, pqxx::binary_cast(key), max_erased});
  return {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>()};
}

KeyedRows count_by_key(inbox::Connection& connection, const std::string& key) {
  const auto rows =
      inbox::run_read(connection, inbox::statements::op_forget_count, pqxx::params{pqxx::binary_cast(key)});
  return {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>(), rows[0][2].as<std::int64_t>()};
}

}  // namespace inboxd::operations
