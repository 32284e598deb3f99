-- The newest events of each shard $1 that were received in [$2, $3) and whose type is like one of $4 (none: all), over
-- all $6 of them. At most $5 events of a shard are looked at. One row at least: how many were looked at, how
-- far back, and the time from which on nothing can be missing (null: nothing is). No locks. Index: event_place of the
-- days between, backwards.
with looked as materialized (
  select s.shard_id, e."offset", e.received_at,
         cardinality($4::text[]) = 0 or e.event_type like any ($4::text[]) as wanted
  from unnest($1::int[]) s(shard_id)
  cross join lateral (
    select e."offset", e.received_at, e.event_type from inbox.event e
    where e.shard_id = s.shard_id
      and e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us'
      and e.received_at < 'epoch'::timestamptz + $3::bigint * interval '1 us'
    order by e."offset" desc limit $5::bigint) e),
summary as (
  select coalesce(sum(n), 0)::bigint as n, (extract(epoch from min(oldest)) * 1000000)::bigint as oldest,
         (extract(epoch from max(oldest) filter (where n = $5::bigint)) * 1000000)::bigint as sure_from
  from (select count(*) as n, min(received_at) as oldest from looked group by shard_id) x)
select summary.n, summary.oldest, summary.sure_from,
       e.shard_id, h.topic, h.partition, e."offset", e.event_id, e.source_id, e.event_type, e.source, e.subject, e.key,
       length(e.payload), (extract(epoch from e.occurred_at) * 1000000)::bigint,
       (extract(epoch from e.kafka_timestamp) * 1000000)::bigint, (extract(epoch from e.received_at) * 1000000)::bigint
from summary
left join (
  (select shard_id, "offset", received_at from looked where wanted
   order by received_at desc, shard_id, "offset" desc limit $6::bigint) w
  join inbox.event e using (shard_id, "offset", received_at)
  join inbox.shard h using (shard_id)) on true
order by e.received_at desc, e.shard_id, e."offset" desc
