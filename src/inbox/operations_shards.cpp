#include "inbox/operations_shards.hpp"

#include <algorithm>

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

ShardState read_shard(RowReader row) {
  ShardState out;
  out.shard_id = row.int4();
  out.source = row.text();
  out.topic = row.text();
  out.partition = row.int4();
  out.incarnation = row.text();
  out.is_newest = row.flag();
  out.epoch = row.maybe_int4();
  out.position = row.maybe_int8();
  out.high_watermark = row.maybe_int8();
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

std::optional<std::int64_t> ShardState::lag() const {
  if (!position || !high_watermark) return std::nullopt;
  return std::max<std::int64_t>(*high_watermark - *position, 0);
}

std::vector<ShardState> read_shards(Connection& connection, const ShardFilter& filter) {
  auto topics = like_patterns(filter.topics);
  const pqxx::params parameters{topics.finish(), filter.only_newest, filter.only_halted};
  std::vector<ShardState> out;
  for (const auto& row : look(connection, statements::op_shards, parameters)) {
    out.push_back(read_shard(RowReader{row}));
  }
  return out;
}

std::optional<AcceptedGap> accept_gap(Connection& connection, const ShardState& seen, const std::string& actor) {
  if (!seen.gap || !seen.position) return std::nullopt;
  const auto rows = connection.access().run(
      statements::op_shard_accept_gap,
      pqxx::params{seen.shard_id, seen.gap->first, seen.gap->end, *seen.position, actor}, Effect::writes);
  if (rows.empty()) return std::nullopt;
  RowReader row{rows[0]};
  AcceptedGap out;
  out.gap.first = row.int8();
  out.gap.end = row.int8();
  out.position = row.int8();
  return out;
}

std::vector<AcceptedIncarnation> accept_incarnation(Connection& connection, const std::vector<ShardState>& seen,
                                                    const std::string& actor) {
  ArrayParameter shards{ArrayParameter::Type::int4};
  ArrayParameter incarnations{ArrayParameter::Type::text};
  for (const auto& shard : seen) {
    shards.add(shard.shard_id);
    incarnations.add(shard.new_incarnation.value_or(""));
  }
  std::vector<AcceptedIncarnation> out;
  for (const auto& found :
       connection.access().run(statements::op_shard_accept_incarnation,
                               pqxx::params{shards.finish(), incarnations.finish(), actor}, Effect::writes)) {
    RowReader row{found};
    AcceptedIncarnation accepted;
    accepted.partition = row.int4();
    accepted.old_incarnation = row.text();
    accepted.new_incarnation = row.text();
    out.push_back(std::move(accepted));
  }
  return out;
}

}  // namespace inboxd::inbox
