#include "inbox/upkeep.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/value_of.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

/// The longest wait for a partition's lock, during which others queue for it.
constexpr const char* partition_lock_timeout = "500ms";
/// The longest time with the locks held, including the check whether the day is needed, which takes longer the more
/// deliveries are pending.
constexpr const char* partition_drop_timeout = "900ms";

/// A chunk of back-fill is no larger than an ingest batch.
constexpr std::int64_t backfill_bite_bytes = 8 << 20;

std::optional<std::int64_t> count_of(std::optional<std::chrono::milliseconds> keep) {
  return keep ? std::optional<std::int64_t>{keep->count()} : std::nullopt;
}

}  // namespace

int make_partitions(Connection& connection, int days_ahead) {
  auto& access = connection.access();
  int made = 0;
  access.transaction([&](pqxx::work& tx) {
    access.run_in(tx, statements::set_lock_timeout, pqxx::params{partition_lock_timeout});
    made = access.run_in(tx, statements::make_partitions, pqxx::params{days_ahead})[0][0].as<int>();
    return true;
  });
  return made;
}

std::int64_t days_made_until(Connection& connection) {
  return connection.access().run(statements::days_made_until, pqxx::params{}, Effect::reads)[0][0].as<std::int64_t>();
}

std::optional<std::string> drop_partition(Connection& connection, const std::string& table,
                                          std::chrono::milliseconds keep) {
  auto& access = connection.access();
  auto dropped = access.run(statements::day_to_drop, pqxx::params{table, keep.count()}, Effect::reads)[0][0]
                     .as<std::optional<std::string>>();
  if (!dropped) return std::nullopt;
  access.transaction([&](pqxx::work& tx) {
    access.run_in(tx, statements::set_lock_timeout, pqxx::params{partition_lock_timeout});
    access.run_in(tx, statements::set_statement_timeout, pqxx::params{partition_drop_timeout});
    dropped = access.run_in(tx, statements::drop_partition, pqxx::params{table, keep.count(), *dropped})[0][0]
                  .as<std::optional<std::string>>();
    return true;
  });
  return dropped;
}

std::optional<KeptDay> find_kept_day(Connection& connection, std::chrono::milliseconds keep) {
  const auto rows = connection.access().run(statements::kept_day, pqxx::params{keep.count()}, Effect::reads);
  if (rows.empty() || rows[0][1].is_null()) return std::nullopt;
  return KeptDay{rows[0][0].as<std::string>(), rows[0][1].as<std::string>()};
}

std::vector<ShardToTrim> find_shards_to_trim(Connection& connection) {
  std::vector<ShardToTrim> out;
  for (const auto& row : connection.access().run(statements::shards_to_trim, pqxx::params{}, Effect::reads)) {
    out.push_back({row[0].as<std::int32_t>(), row[1].as<std::string>(), row[2].as<std::int64_t>(),
                   row[3].as<std::optional<std::int64_t>>()});
  }
  return out;
}

EventsTrimmed trim_events(Connection& connection, std::int32_t shard_id, event::Microseconds before,
                          std::int64_t first, int limit) {
  const auto row =
      connection.access().run(statements::trim_events, pqxx::params{shard_id, before, first, limit})[0];
  return {row[0].as<std::int64_t>(), row[1].as<std::optional<std::int64_t>>()};
}

std::int64_t trim_positions(Connection& connection, int limit) {
  return connection.access().run(statements::trim_positions, pqxx::params{limit}).affected_rows();
}

std::int64_t trim_old_rows(Connection& connection, std::optional<std::chrono::milliseconds> keep_dead_letters,
                           std::optional<std::chrono::milliseconds> keep_quarantine, int limit) {
  return connection.access()
      .run(statements::trim_old_rows, pqxx::params{count_of(keep_dead_letters), count_of(keep_quarantine), limit})[0][0]
      .as<std::int64_t>();
}

void instance_heartbeat(Connection& connection, const InstanceIdentity& identity, bool stopped,
                        const std::optional<std::string>& problem, const std::vector<std::int32_t>& handlers,
                        const std::vector<HandlerActivity>& activity, const std::optional<std::string>& history) {
  auto ids = array_of(ArrayParameter::Type::int4, handlers);
  ArrayParameter topics{ArrayParameter::Type::text};
  for (const std::string& topic : identity.topics) topics.add(topic);
  pqxx::params parameters{identity.instance_id.text(), identity.host, INBOXD_VERSION, identity.process_id, stopped,
                          problem, ids.finish(), topics.finish(), json_of(activity)};
  if (history) {
    parameters.append(pqxx::bytes{reinterpret_cast<const std::byte*>(history->data()), history->size()});
  } else {
    parameters.append();
  }
  const auto rows = connection.access().run(statements::instance_heartbeat, parameters);
  connection.access().note_server(rows.one_row()[0].as<std::string>());
}

std::optional<OldestTransaction> find_oldest_transaction(Connection& connection) {
  const auto rows = connection.access().run(statements::oldest_transaction, pqxx::params{}, Effect::reads);
  if (rows.empty()) return std::nullopt;
  const auto row = rows[0];
  OldestTransaction out{row[0].as<std::string>(), row[1].as<int>(),         row[2].as<std::string>(),
                        row[3].as<std::string>(), row[4].as<std::string>(), std::nullopt};
  if (!row[5].is_null()) out.age = std::chrono::seconds{row[5].as<std::int64_t>()};
  return out;
}

void close_idle_windows(Connection& connection, const std::vector<std::string>& handlers) {
  auto names = array_of(ArrayParameter::Type::text, handlers);
  connection.access().run(statements::close_idle_windows, pqxx::params{names.finish()});
}

std::int64_t count_pending(Connection& connection, const std::vector<std::string>& handlers) {
  auto names = array_of(ArrayParameter::Type::text, handlers);
  return connection.access()
      .run(statements::count_pending, pqxx::params{names.finish()}, Effect::reads)[0][0]
      .as<std::int64_t>();
}

std::map<std::int32_t, event::Microseconds> handlers_fed(Connection& connection,
                                                         const std::vector<std::int32_t>& handlers) {
  auto ids = array_of(ArrayParameter::Type::int4, handlers);
  std::map<std::int32_t, event::Microseconds> out;
  for (const auto& row : connection.access().run(statements::handlers_fed, pqxx::params{ids.finish()}, Effect::reads)) {
    out[row[0].as<std::int32_t>()] = row[1].as<event::Microseconds>();
  }
  return out;
}

std::optional<Backfilled> backfill_bite(Connection& connection, int max_events) {
  const auto row = connection.access().run(statements::backfill_bite, pqxx::params{max_events, backfill_bite_bytes})[0];
  if (row[0].is_null()) return std::nullopt;
  return Backfilled{row[0].as<std::int64_t>(), row[1].as<std::int64_t>()};
}

Fed feed_backfill(Connection& connection, const std::vector<std::int32_t>& handlers,
                  const std::vector<std::int32_t>& bites) {
  auto ids = array_of(ArrayParameter::Type::int4, handlers);
  auto most = array_of(ArrayParameter::Type::int4, bites);
  const pqxx::params parameters{ids.finish(), most.finish(), backfill_bite_bytes};
  const auto row = connection.access().run(statements::feed_backfill, parameters)[0];
  using enum Fed::State;
  Fed out;
  out.state = value_of<Fed::State>(row[0].view(), {{"none", none}, {"waits", waits}, {"fed", fed}, {"ended", ended}});
  if (!row[1].is_null()) out.handler_id = row[1].as<std::int32_t>();
  out.read = row[2].as<std::int64_t>();
  out.events = row[3].as<std::int64_t>();
  out.dead_letters = row[4].as<std::int64_t>();
  if (!row[5].is_null()) out.wait = std::chrono::milliseconds{static_cast<std::int64_t>(row[5].as<double>()) + 1};
  return out;
}

}  // namespace inboxd::inbox
