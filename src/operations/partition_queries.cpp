#include "operations/partition_queries.hpp"

#include <algorithm>

#include "inbox/connection_access.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;

std::optional<std::chrono::microseconds> maybe_duration(std::optional<std::int64_t> microseconds) {
  return microseconds ? std::optional{std::chrono::microseconds{*microseconds}} : std::nullopt;
}

PartitionState read_partition(inbox::RowReader row) {
  PartitionState out;
  out.shard_id = row.int4();
  out.source = row.text();
  out.topic = row.text();
  out.partition = row.int4();
  out.incarnation = row.text();
  out.is_newest = row.flag();
  out.epoch = row.maybe_int4();
  out.position = row.maybe_int8();
  out.high_watermark = row.maybe_int8();
  out.last_stable_offset = row.maybe_int8();
  out.observed_at = row.maybe_int8();
  out.observed_age = maybe_duration(row.maybe_int8());
  out.held_since = row.maybe_int8();
  out.held_for = maybe_duration(row.maybe_int8());
  out.any_live = row.flag();
  out.halted_reason = row.maybe_text();
  out.halted_at = row.maybe_int8();
  const auto from = row.maybe_int8();
  const auto to = row.maybe_int8();
  if (from && to) out.gap = event::OffsetRange{*from, *to};
  out.new_incarnation = row.maybe_text();
  out.gaps = event::OffsetSet::parse(row.text()).value_or(event::OffsetSet{});
  return out;
}

}  // namespace

bool PartitionState::is_end_known() const {
  return any_live && high_watermark && observed_age && *observed_age <= fresh_within;
}

std::optional<std::int64_t> PartitionState::lag() const {
  if (!position || !is_end_known()) return std::nullopt;
  return std::max<std::int64_t>(*high_watermark - *position, 0);
}

bool PartitionState::is_held() const {
  return is_end_known() && held_since && position && last_stable_offset && *position >= *last_stable_offset &&
         *position < *high_watermark;
}

std::vector<PartitionState> read_partitions(inbox::Connection& connection, const PartitionFilter& filter) {
  const pqxx::params parameters{like_patterns(filter.topics), filter.only_newest, filter.only_halted,
                                static_cast<int>(live_within.count())};
  return read_all(connection, inbox::statements::op_shards, parameters, read_partition);
}

std::optional<AcceptedGap> accept_gap(inbox::Connection& connection, const PartitionState& seen,
                                      const std::string& actor) {
  if (!seen.gap || !seen.position) return std::nullopt;
  const auto rows = connection.access().run(
      inbox::statements::op_shard_accept_gap,
      pqxx::params{seen.shard_id, seen.gap->first, seen.gap->end, *seen.position, actor}, Effect::writes);
  if (rows.empty()) return std::nullopt;
  inbox::RowReader row{rows[0]};
  return AcceptedGap{{row.int8(), row.int8()}, row.int8()};
}

SeekPlan plan_seek(inbox::Connection& connection, std::int32_t shard_id, std::optional<std::int64_t> offset,
                   std::optional<event::Microseconds> since) {
  const auto rows =
      inbox::run_read(connection, inbox::statements::op_shard_seek_plan, pqxx::params{shard_id, offset, since});
  inbox::RowReader row{rows[0]};
  return {row.maybe_int8(), row.int8(), row.int4(), row.int8()};
}

std::optional<std::int64_t> seek(inbox::Connection& connection, std::int32_t shard_id, std::int32_t epoch,
                                 std::int64_t target, const std::string& actor) {
  const auto rows = connection.access().run(inbox::statements::op_shard_seek,
                                            pqxx::params{shard_id, epoch, target, actor}, Effect::writes);
  if (rows.empty()) return std::nullopt;
  return rows[0][0].as<std::int64_t>();
}

std::vector<AcceptedRecreation> accept_recreated(inbox::Connection& connection, const std::vector<PartitionState>& seen,
                                                 const std::string& actor) {
  std::vector<std::int32_t> shards;
  std::vector<std::string> incarnations;
  for (const auto& partition : seen) {
    shards.push_back(partition.shard_id);
    incarnations.push_back(partition.new_incarnation.value_or(""));
  }
  const pqxx::params parameters{array_parameter(shards), array_parameter(incarnations), actor};
  std::vector<AcceptedRecreation> out;
  for (const auto& found :
       connection.access().run(inbox::statements::op_shard_accept_incarnation, parameters, Effect::writes)) {
    inbox::RowReader row{found};
    out.push_back({row.int4(), row.text(), row.text()});
  }
  return out;
}

}  // namespace inboxd::operations
