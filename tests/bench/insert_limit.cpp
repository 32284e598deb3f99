#include <algorithm>
#include <chrono>

#include "application_table.hpp"
#include "baseline_store.hpp"
#include "in_process_inbox.hpp"
#include "queue.hpp"

namespace inboxd::bench {
namespace {

using Array = inbox::ArrayParameter;
using Type = Array::Type;

constexpr const char* topic = "inboxd-bench-limit";
constexpr std::int64_t chunk_events = 500;
constexpr std::size_t waiting_chunks = 1000;

/// Ranges of the inbox with about 500 events.
struct InsertChunk {
  std::vector<inbox::ShardStep> ranges;
  std::int64_t events = 0;
  event::Microseconds received_at = 0;
};

constexpr const char* insert_chunk = R"(
  insert into bench_application.applied (event_id, order_number)
  select e.event_id, convert_from(e.payload, 'UTF8')::jsonb ->> 'order'
  from unnest($1::int[], $2::bigint[], $3::bigint[]) r(shard, first, next)
  cross join lateral (
    select x.event_id, x.payload from inbox.event x
    where x.shard_id = r.shard and x."offset" >= r.first and x."offset" < r.next and x.received_at >= $4
    order by x."offset") e)";

std::vector<InsertChunk> chunks_of(const inbox::IngestBatch& batch, event::Microseconds received_at) {
  std::vector<InsertChunk> out{{}};
  for (inbox::ShardStep step : batch.steps) {
    for (std::int64_t first = step.expected; first < step.next;) {
      if (out.back().events >= chunk_events) out.emplace_back();
      InsertChunk& chunk = out.back();
      chunk.received_at = received_at;
      inbox::ShardStep part = step;
      part.expected = first;
      part.next = std::min(step.next, first + chunk_events - chunk.events);
      chunk.events += part.next - first;
      first = part.next;
      chunk.ranges.push_back(part);
    }
  }
  return out;
}

void insert(PostgresSession& session, const InsertChunk& chunk) {
  Array shard{Type::int4}, first{Type::int8}, next{Type::int8};
  for (const inbox::ShardStep& range : chunk.ranges) {
    shard.add(range.shard_id);
    first.add(range.expected);
    next.add(range.next);
  }
  const std::uint64_t wire = htobe64(static_cast<std::uint64_t>(chunk.received_at - inbox::postgres_epoch_us));
  session.call("insert", {text_of(shard), text_of(first), text_of(next),
                          std::string_view{reinterpret_cast<const char*>(&wire), sizeof wire}});
}

void insert_all(const std::string& database_url, Queue<InsertChunk>& queue) {
  PostgresSession session{database_url};
  // Plan while the tables are small, and keep the plan.
  session.run("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
  session.prepare("insert", insert_chunk);
  while (true) {
    const auto chunks = queue.take(1);
    if (chunks.empty()) return;
    insert(session, chunks.front());
  }
}

}  // namespace

MeasuredRun run_insert_limit(const Options& options, const std::string& database_url, int workers) {
  PostgresSession control{database_url};
  create_application_table(control);
  InProcessInbox local_inbox{options, database_url, topic, 1};
  Queue<InsertChunk> queue{waiting_chunks};
  InProcessInbox::Load load;
  load.stored = [&](const inbox::IngestBatch& batch, event::Microseconds received_at) {
    for (InsertChunk& chunk : chunks_of(batch, received_at)) queue.put(std::move(chunk));
  };
  MeasuredRun run;
  CostMeasurement measurement{control, options.kafka};
  on_threads(1 + workers, [&](int worker) {
    if (worker > 0) return insert_all(database_url, queue);
    run.events = local_inbox.ingest(load).events;
    queue.close();
  });
  run.cost = measurement.stop();
  run.seconds = run.cost.seconds;
  check_application_table(control, run.events);
  return run;
}

}  // namespace inboxd::bench
