#include "limit.hpp"

#include <stdexcept>

#include "baseline_store.hpp"
#include "event_source.hpp"
#include "inbox/array_parameter.hpp"

namespace inboxd::bench {
namespace {

using Array = inbox::ArrayParameter;
using Type = Array::Type;

constexpr const char* create_table = R"(
  drop schema if exists bench_limit cascade;
  create schema bench_limit;
  create table bench_limit.event (
    event_id uuid primary key, shard_id int not null, "offset" bigint not null, event_type text not null,
    key bytea, payload bytea, kafka_timestamp timestamptz, received_at timestamptz not null default now());
  checkpoint)";

constexpr const char* insert_rows = R"(
  insert into bench_limit.event (event_id, shard_id, "offset", event_type, key, payload, kafka_timestamp)
  select * from unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[], $7::timestamptz[]))";

void insert(PostgresSession& session, const SourceBatch& batch) {
  Array id{Type::uuid}, shard{Type::int4}, offset{Type::int8}, type{Type::text}, key{Type::bytea},
      payload{Type::bytea}, timestamp{Type::timestamptz};
  for (const event::Event& event : batch.events) {
    id.add(event.event_id);
    shard.add(event.shard_id);
    offset.add(event.offset);
    type.add(event.event_type);
    key.add(event.key);
    payload.add(event.payload);
    timestamp.add_time(event.kafka_timestamp);
  }
  session.call("insert", {text_of(id), text_of(shard), text_of(offset), text_of(type), text_of(key), text_of(payload),
                          text_of(timestamp)});
}

}  // namespace

MeasuredRun run_limit(const Options& options, const std::string& database_url) {
  PostgresSession control{database_url};
  control.run(create_table);
  MeasuredRun run;
  run.events = EventSource::total(options);
  CostMeasurement measurement{control, options.kafka};
  on_threads(options.connections, [&](int worker) {
    PostgresSession session{database_url};
    session.prepare("insert", insert_rows);
    EventSource source{options, worker, 1};
    SourceBatch batch;
    while (source.next(batch)) insert(session, batch);
  });
  run.cost = measurement.stop();
  run.seconds = run.cost.seconds;
  if (control.number("select count(*) from bench_limit.event") != run.events) {
    throw std::runtime_error{"limit: rows are missing"};
  }
  control.run("drop schema bench_limit cascade");
  return run;
}

}  // namespace inboxd::bench
