-- The newest events of shards $1, received in [$2, $3), of types $4 (LIKE patterns; none: all), at most $6 in all.
-- Looks at no more than $5 events of a shard. Returns at least one row: how many were looked at, the oldest of those,
-- and the time from which no event can be missing (null: none is). $7 and $8: the days around.
--
-- A shard's events are received in the order of their offsets, except restored ones, which have lower offsets. So the
-- look ends at the first event that is too old. A binary search finds where it starts, instead of walking the rest of
-- the day. Keys up to the length shown. No locks. Index: event_place, backwards.
with recursive halves as (
  select s.shard_id, before.first is not null as has_before, coalesce(before.first, 0) as low, e."offset" + 1 as high
  from unnest($1::int[]) s(shard_id)
  cross join lateral (
    select e."offset" from inbox.event e
    where e.shard_id = s.shard_id
      and e.received_at >= 'epoch'::timestamptz + $7::bigint * interval '1 us'
      and e.received_at < 'epoch'::timestamptz + $8::bigint * interval '1 us'
    order by e."offset" desc limit 1) e
  left join lateral (
    select e."offset" + 1 as first from inbox.event e
    where e.shard_id = s.shard_id and e.received_at < 'epoch'::timestamptz + $7::bigint * interval '1 us'
    order by e."offset" desc limit 1) before on true
  where $3::bigint < $8::bigint
  union all
  select h.shard_id, h.has_before, case when e.is_before then e."offset" + 1 else h.low end,
         case when e.is_before then h.high else (h.low + h.high) / 2 end
  from halves h
  left join lateral (
    select e."offset", e.received_at < 'epoch'::timestamptz + $3::bigint * interval '1 us' as is_before
    from inbox.event e
    where e.shard_id = h.shard_id and e."offset" >= (h.low + h.high) / 2
      and e.received_at >= 'epoch'::timestamptz + $7::bigint * interval '1 us'
      and e.received_at < 'epoch'::timestamptz + $8::bigint * interval '1 us'
    order by e."offset" limit 1) e on true
  where h.low < h.high),
ends as (  -- not if nothing was found and there is no day before: restored events may mislead the search
  select h.shard_id, case when h.has_before or h.low > 0 then h.low end as "offset"
  from halves h
  where h.low >= h.high),
looked as materialized (
  select s.shard_id, e."offset", e.received_at, x.inside,
         x.inside and (cardinality($4::text[]) = 0 or e.event_type like any ($4::text[])) as wanted
  from unnest($1::int[]) s(shard_id)
  left join ends on ends.shard_id = s.shard_id
  cross join lateral (
    select e."offset", e.received_at, e.event_type from inbox.event e
    where e.shard_id = s.shard_id and e."offset" < coalesce(ends."offset", 9223372036854775807)
      and e.received_at >= 'epoch'::timestamptz + $7::bigint * interval '1 us'
      and e.received_at < 'epoch'::timestamptz + $3::bigint * interval '1 us'
    order by e."offset" desc limit $5::bigint) e
  cross join lateral (select e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us' as inside) x),
summary as (
  select coalesce(sum(inside), 0)::bigint as n, (extract(epoch from min(oldest_inside)) * 1000000)::bigint as oldest,
         (extract(epoch from max(oldest) filter (where n = $5::bigint and inside = n)) * 1000000)::bigint as sure_from
  from (select count(*) as n, count(*) filter (where inside) as inside, min(received_at) as oldest,
               min(received_at) filter (where inside) as oldest_inside
        from looked group by shard_id) x)
select summary.n, summary.oldest, summary.sure_from,
       e.shard_id, h.topic, h.partition, e."offset", e.event_id, e.source_id, e.event_type, e.source, e.subject,
       substr(e.key, 1, 257), length(e.payload), (extract(epoch from e.occurred_at) * 1000000)::bigint,
       (extract(epoch from e.kafka_timestamp) * 1000000)::bigint, (extract(epoch from e.received_at) * 1000000)::bigint
from summary
left join (
  (select shard_id, "offset", received_at from looked where wanted
   order by received_at desc, shard_id, "offset" desc limit $6::bigint) w
  join inbox.event e using (shard_id, "offset", received_at)
  join inbox.shard h using (shard_id)) on true
order by e.received_at desc, e.shard_id, e."offset" desc
