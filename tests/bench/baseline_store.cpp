#include "baseline_store.hpp"

#include <endian.h>

#include <cstring>
#include <stdexcept>

namespace inboxd::bench {
namespace {

using Array = inbox::ArrayParameter;
using Type = Array::Type;

constexpr const char* tables = R"(
  drop schema if exists bench_baseline cascade;
  create schema bench_baseline;
  create table bench_baseline.position (
    shard_id int, first_offset bigint, next_offset bigint not null, primary key (shard_id, first_offset));
  create table bench_baseline.ledger (
    event_id uuid primary key, shard_id int not null, "offset" bigint not null, digest bigint not null,
    received_at timestamptz not null default now());
  create table bench_baseline.event (
    shard_id int not null, "offset" bigint not null, event_id uuid not null, event_type text not null, key bytea,
    payload bytea, headers bytea, kafka_timestamp timestamptz, received_at timestamptz not null default now())
    partition by range (received_at);
  create table bench_baseline.event_today partition of bench_baseline.event
    for values from (current_date - 1) to (current_date + 2);
  create index on bench_baseline.event (shard_id, "offset");
  create table bench_baseline.delivery (
    delivery_id bigint generated always as identity primary key, handler_id int not null, shard_id int not null,
    pending int8multirange not null, attempts int not null default 0, fence bigint not null, owner uuid,
    due_at timestamptz not null) with (fillfactor = 70);
  create index on bench_baseline.delivery (handler_id, due_at);
  create table bench_baseline.outcome (
    handler_id int not null, shard_id int not null, offsets int8multirange not null, outcome smallint not null,
    finished_at timestamptz not null default now());
  create index on bench_baseline.outcome (shard_id, lower(offsets)))";

/// Each statement sees the effects of the statement before; together they are a single transaction and round trip.
constexpr const char* function = R"(
  create function bench_baseline.store(
    s_shard int[], s_first bigint[], s_next bigint[], l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
    e_type text[], e_key bytea[], e_payload bytea[], e_timestamp timestamptz[], out stored int, out born bigint[])
  language plpgsql as $$
  declare
    moved int;
  begin
    insert into bench_baseline.position
    select s.* from unnest(s_shard, s_first, s_next) s(shard, first, next)
    where (select p.next_offset from bench_baseline.position p where p.shard_id = s.shard
           order by p.first_offset desc limit 1) = s.first
    on conflict do nothing;
    get diagnostics moved = row_count;
    if moved < cardinality(s_shard) then
      stored := 0;
      return;
    end if;
    insert into bench_baseline.ledger (event_id, shard_id, "offset", digest)
    select * from unnest(l_id, l_shard, l_offset, l_digest) on conflict do nothing;
    get diagnostics stored = row_count;
    insert into bench_baseline.event (shard_id, "offset", event_id, event_type, key, payload, kafka_timestamp)
    select * from unnest(l_shard, l_offset, l_id, e_type, e_key, e_payload, e_timestamp);
    with fresh as (
      insert into bench_baseline.delivery (handler_id, shard_id, pending, fence, owner, due_at)
      select 1, s.shard, int8multirange(int8range(s.first, s.next)), 1, '00000000-0000-0000-0000-000000000001',
             now() + interval '30 s'
      from unnest(s_shard, s_first, s_next) s(shard, first, next)
      returning delivery_id)
    select array_agg(delivery_id) into born from fresh;
  end $$)";

constexpr const char* call = R"(
  select stored, born from bench_baseline.store($1::int[], $2::bigint[], $3::bigint[], $4::uuid[], $5::int[],
    $6::bigint[], $7::bigint[], $8::text[], $9::bytea[], $10::bytea[], $11::timestamptz[]))";

constexpr const char* settle_statement = R"(
  with gone as (
    delete from bench_baseline.delivery d using unnest($1::bigint[]) g(id) where d.delivery_id = g.id and d.fence = 1
    returning d.handler_id, d.shard_id, d.pending)
  insert into bench_baseline.outcome (handler_id, shard_id, offsets, outcome)
  select handler_id, shard_id, pending, 1 from gone)";

std::int32_t int4(const char* wire) {
  std::uint32_t value = 0;
  std::memcpy(&value, wire, sizeof value);
  return static_cast<std::int32_t>(be32toh(value));
}

std::int64_t int8(const char* wire) {
  std::uint64_t value = 0;
  std::memcpy(&value, wire, sizeof value);
  return static_cast<std::int64_t>(be64toh(value));
}

/// The elements of a binary bigint[] without nulls: a header of 20 bytes, then length and value of each.
std::vector<std::int64_t> elements(const char* array) {
  std::vector<std::int64_t> out(int4(array) == 0 ? 0 : static_cast<std::size_t>(int4(array + 12)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = int8(array + 20 + 12 * i + 4);
  return out;
}

}  // namespace

std::string_view text_of(Array& array) {
  const auto bytes = array.finish();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void BaselineStore::create(PostgresSession& session, int partitions) {
  session.run(tables);
  session.run(function);
  session.run("insert into bench_baseline.position select g, -1, 0 from generate_series(0, " +
              std::to_string(partitions - 1) + ") g");
  session.run("checkpoint");
}

BaselineStore::BaselineStore(const std::string& database_url) : session_{database_url} {
  session_.prepare("store", call);
  session_.prepare("settle", settle_statement);
}

std::vector<BaselineDelivery> BaselineStore::store(const SourceBatch& batch) {
  Array s_shard{Type::int4}, s_first{Type::int8}, s_next{Type::int8};
  for (const Slice& slice : batch.slices) {
    s_shard.add(slice.partition);
    s_first.add(slice.offsets.first);
    s_next.add(slice.offsets.end);
  }
  Array id{Type::uuid}, shard{Type::int4}, offset{Type::int8}, digest{Type::int8}, type{Type::text}, key{Type::bytea},
      payload{Type::bytea}, timestamp{Type::timestamptz};
  for (const event::Event& event : batch.events) {
    id.add(event.event_id);
    shard.add(event.shard_id);
    offset.add(event.offset);
    digest.add(event.digest);
    type.add(event.event_type);
    key.add(event.key);
    payload.add(event.payload);
    timestamp.add_time(event.kafka_timestamp);
  }
  const auto result = session_.call(
      "store", {text_of(s_shard), text_of(s_first), text_of(s_next), text_of(id), text_of(shard), text_of(offset),
                text_of(digest), text_of(type), text_of(key), text_of(payload), text_of(timestamp)});
  if (int4(PQgetvalue(result.get(), 0, 0)) != static_cast<std::int32_t>(batch.events.size())) {
    throw std::runtime_error{"baseline: a batch holds duplicates"};
  }
  const auto ids = elements(PQgetvalue(result.get(), 0, 1));
  std::vector<BaselineDelivery> runs;
  for (std::size_t i = 0; i < batch.slices.size(); ++i) {
    runs.push_back({ids.at(i), batch.slices[i].partition, batch.slices[i].offsets});
  }
  return runs;
}

void BaselineStore::settle(const std::vector<BaselineDelivery>& runs) {
  Array id{Type::int8};
  for (const BaselineDelivery& run : runs) id.add(run.delivery_id);
  session_.call("settle", {text_of(id)});
}

}  // namespace inboxd::bench
