-- The events of claimed runs, by ranges of a shard; with payloads and headers if $7. No locks. Index: event_place of
-- the days in which the run was received.
select r.run, e."offset", e.event_id, e.source_id, e.event_type, e.source, e.subject, e.key,
       case when $7::boolean then e.payload end, case when $7::boolean then e.headers end,
       e.occurred_at, e.kafka_timestamp, e.received_at
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[])
     r(run, shard, first, "end", received_from, received_to)
cross join lateral (
  select e.* from inbox.event e
  where e.shard_id = r.shard and e."offset" >= r.first and e."offset" < r."end"
    and e.received_at >= r.received_from and e.received_at <= r.received_to
  order by e."offset") e
