#include <algorithm>
#include <chrono>

#include "book.hpp"
#include "path_store.hpp"
#include "queue.hpp"
#include "room.hpp"

namespace inboxd::bench {
namespace {

using Array = inbox::ArrayParameter;
using Type = Array::Type;

constexpr const char* topic = "inboxd-bench-limit";
constexpr std::int64_t bite_events = 500;
constexpr std::size_t waiting_bites = 1000;

/// Ranges of the inbox, about 500 events.
struct Bite {
  std::vector<inbox::ShardStep> ranges;
  std::int64_t events = 0;
  event::Microseconds received_at = 0;
};

constexpr const char* insert_bite = R"(
  insert into bench_book.booked (event_id, order_number)
  select e.event_id, convert_from(e.payload, 'UTF8')::jsonb ->> 'order'
  from unnest($1::int[], $2::bigint[], $3::bigint[]) r(shard, first, next)
  cross join lateral (
    select x.event_id, x.payload from inbox.event x
    where x.shard_id = r.shard and x."offset" >= r.first and x."offset" < r.next and x.received_at >= $4
    order by x."offset") e)";

std::vector<Bite> bites_of(const inbox::IngestBatch& batch, event::Microseconds received_at) {
  std::vector<Bite> out{{}};
  for (inbox::ShardStep step : batch.steps) {
    for (std::int64_t first = step.expected; first < step.next;) {
      if (out.back().events >= bite_events) out.emplace_back();
      Bite& bite = out.back();
      bite.received_at = received_at;
      inbox::ShardStep part = step;
      part.expected = first;
      part.next = std::min(step.next, first + bite_events - bite.events);
      bite.events += part.next - first;
      first = part.next;
      bite.ranges.push_back(part);
    }
  }
  return out;
}

void insert(Session& session, const Bite& bite) {
  Array shard{Type::int4}, first{Type::int8}, next{Type::int8};
  for (const inbox::ShardStep& range : bite.ranges) {
    shard.add(range.shard_id);
    first.add(range.expected);
    next.add(range.next);
  }
  const std::uint64_t wire = htobe64(static_cast<std::uint64_t>(bite.received_at - inbox::postgres_epoch_us));
  session.call("bite", {text_of(shard), text_of(first), text_of(next),
                        std::string_view{reinterpret_cast<const char*>(&wire), sizeof wire}});
}

void insert_all(const std::string& database_url, Queue<Bite>& queue) {
  Session session{database_url};
  // The plan is made while the tables are small, and kept.
  session.run("set enable_seqscan = off; set plan_cache_mode = force_generic_plan");
  session.prepare("bite", insert_bite);
  while (true) {
    const auto bites = queue.take(1);
    if (bites.empty()) return;
    insert(session, bites.front());
  }
}

}  // namespace

Run run_book_limit(const Options& options, const std::string& database_url, int workers) {
  Session control{database_url};
  create_book(control);
  Room room{options, database_url, topic, 1};
  Queue<Bite> queue{waiting_bites};
  Room::Load load;
  load.stored = [&](const inbox::IngestBatch& batch, event::Microseconds received_at) {
    for (Bite& bite : bites_of(batch, received_at)) queue.put(std::move(bite));
  };
  Run run;
  Meter meter{control, options.kafka};
  on_threads(1 + workers, [&](int worker) {
    if (worker > 0) return insert_all(database_url, queue);
    run.events = room.ingest(load).events;
    queue.close();
  });
  run.cost = meter.stop();
  run.seconds = run.cost.seconds;
  check_book(control, run.events);
  return run;
}

}  // namespace inboxd::bench
