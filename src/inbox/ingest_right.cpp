#include "inbox/ingest_right.hpp"

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

}  // namespace

std::optional<RecordedShard> recorded_shard(Connection& connection) {
  const auto rows = connection.access().run(statements::shard_recorded, {}, Effect::reads);
  if (rows.empty() || rows[0][0].is_null()) return std::nullopt;
  return RecordedShard{rows[0][0].as<int>(), rows[0][1].as<int>()};
}

RecordedShard record_shard(Connection& connection, const RecordedShard& configured) {
  connection.access().run(statements::shard_record, pqxx::params{configured.index, configured.of});
  return recorded_shard(connection).value_or(configured);
}

bool take_ingest_right(Connection& connection, const IngestLease& lease, std::chrono::milliseconds length) {
  const pqxx::params parameters{lease.owner.text(), lease.fence, length.count(), lease.shard.index, lease.shard.of};
  return !connection.access().run(statements::ingest_right_take, parameters).empty();
}

bool renew_ingest_right(Connection& connection, const IngestLease& lease, std::chrono::milliseconds length) {
  const pqxx::params parameters{lease.owner.text(), lease.fence, length.count(), lease.shard.index, lease.shard.of};
  return !connection.access().run(statements::ingest_right_renew, parameters).empty();
}

void release_ingest_right(Connection& connection, const IngestLease& lease) {
  connection.access().run(statements::ingest_right_release, pqxx::params{lease.owner.text(), lease.fence});
}

}  // namespace inboxd::inbox
