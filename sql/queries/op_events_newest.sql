-- The newest events of shards $1, received in [$2, $3), of types $4 (LIKE patterns; none: all), at most $6 in all. With
-- key $9 (null: any); for handler $10 (null: any) and in its states $11 (none: any), if $12. After the event received
-- at $14 of shard $15 at offset $16 in the order of the answer (null: from the newest); $3 must be just after $14.
-- Looks at no more than $5 events of a shard; if $13, at $5 events of the key alone, by index event_key
-- (sql/README.md). Returns at least one row: how many were looked at, the oldest of them, and the time from which no
-- event can be missing (null: none is). $7 and $8: the days around.
--
-- A shard's events are received in the order of their offsets, except restored events, which have lower offsets. So the
-- look ends at the first event that is too old. A binary search finds where it starts, instead of walking the rest of
-- the day. States of the events looked at are: pending, else dead, else the last outcome. Keys up to the length shown.
-- No locks. Indexes: event_place, backwards; for states outcome_place and the unique key of dead_letter, and all of
-- delivery, which has pending work only.
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
  where $3::bigint < $8::bigint and not $13::boolean
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
         x.inside and (cardinality($4::text[]) = 0 or e.event_type like any ($4::text[]))
           and ($9::bytea is null or e.key = $9::bytea) as wanted
  from unnest($1::int[]) s(shard_id)
  left join ends on ends.shard_id = s.shard_id
  cross join lateral (
    select e."offset", e.received_at, e.event_type, e.key from inbox.event e
    where e.shard_id = s.shard_id and e."offset" < coalesce(ends."offset", 9223372036854775807)
      and e.received_at >= 'epoch'::timestamptz + $7::bigint * interval '1 us'
      and e.received_at < 'epoch'::timestamptz + $3::bigint * interval '1 us'
      and ($14::bigint is null or e.received_at < 'epoch'::timestamptz + $14::bigint * interval '1 us'
           or s.shard_id > $15::int or s.shard_id = $15::int and e."offset" < $16::bigint)
    order by e."offset" desc limit $5::bigint) e
  cross join lateral (select e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us' as inside) x
  where not $13::boolean
  union all
  (select e.shard_id, e."offset", e.received_at, true,
          cardinality($4::text[]) = 0 or e.event_type like any ($4::text[])
   from inbox.event e
   where $13::boolean and substr(e.key, 1, 256) = substr($9::bytea, 1, 256) and e.key = $9::bytea
     and e.shard_id = any ($1::int[])
     and e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us'
     and e.received_at < 'epoch'::timestamptz + $3::bigint * interval '1 us'
     and ($14::bigint is null or e.received_at < 'epoch'::timestamptz + $14::bigint * interval '1 us'
          or e.shard_id > $15::int or e.shard_id = $15::int and e."offset" < $16::bigint)
   order by e.received_at desc limit $5::bigint)),
bounds as materialized (
  select shard_id, min("offset") as low, max("offset") as high,
         int8multirange(int8range(min("offset"), max("offset") + 1)) as span
  from looked where wanted and $12::boolean group by shard_id),
asked as materialized (
  select h.handler_id, h.mode from inbox.handler h
  where $10::text is null or h.name = $10::text),
states as (
  select 1 as place, a.handler_id, d.shard_id, d.pending * b.span as offsets, now() as at,
         case when d.owner is not null and (d.sequence is not null or d.due_at > statement_timestamp()) then 'leased'
              when a.mode = 'batch' and not w.is_in
                and (d.due_at <= statement_timestamp() or d.due_at = 'infinity')
                or a.mode <> 'batch' and d.lane is not null and d.due_at = 'infinity'
                or d.postponed and d.due_at > statement_timestamp() and d.due_at < 'infinity' then 'waiting'
              when not (
                a.mode = 'batch' and w.is_in
                or a.mode <> 'batch' and (d.due_at <= statement_timestamp() or d.sequence is not null
                                          and d.lane is null)) then 'retrying'
              else 'due' end as state
  from bounds b join inbox.delivery d on d.shard_id = b.shard_id and d.pending && b.span
  join asked a using (handler_id)
  left join inbox.batch_window v on v.handler_id = a.handler_id
  cross join lateral (select coalesce(v.ended_at is null and inbox.is_in_window(d, v), false) as is_in) w
  union all
  select 2, x.handler_id, x.shard_id, int8multirange(int8range(x."offset", x."offset" + 1)), x.died_at, x.state
  from bounds b cross join asked a join inbox.dead_letter x on x.handler_id = a.handler_id and x.shard_id = b.shard_id
  where x."offset" >= b.low and x."offset" <= b.high
  union all
  select 3, o.handler_id, o.shard_id, o.offsets * b.span, o.finished_at, o.outcome
  from bounds b join inbox.outcome o on o.shard_id = b.shard_id and lower(o.offsets) > b.low - 10000
    and lower(o.offsets) <= b.high
  join asked a using (handler_id)),
stated as (
  select distinct on (s.handler_id, s.shard_id, o."offset") s.shard_id, o."offset", s.state
  from states s cross join lateral unnest(s.offsets) r
  cross join lateral generate_series(lower(r), upper(r) - 1) o("offset")
  order by s.handler_id, s.shard_id, o."offset", s.place, s.at desc),
summary as (
  select coalesce(sum(inside), 0)::bigint as n, (extract(epoch from min(oldest_inside)) * 1000000)::bigint as oldest,
         (extract(epoch from max(oldest) filter (where n = $5::bigint and inside = n)) * 1000000)::bigint as sure_from
  from (select count(*) as n, count(*) filter (where inside) as inside, min(received_at) as oldest,
               min(received_at) filter (where inside) as oldest_inside
        from looked group by case when not $13::boolean then shard_id end) x)
select summary.n, summary.oldest, summary.sure_from,
       e.shard_id, h.topic, h.partition, e."offset", e.event_id, coalesce(e.source_id, e.event_id::text) as source_id,
       e.event_type, e.source, e.subject, substr(e.key, 1, 257) as key, length(e.payload) as payload_size,
       (extract(epoch from e.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from e.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from e.deliver_at) * 1000000)::bigint as deliver_at,
       (extract(epoch from e.received_at) * 1000000)::bigint as received_at
from summary
left join (
  (select shard_id, "offset", received_at from looked
   where wanted and (not $12::boolean or (shard_id, "offset") in (
     select t.shard_id, t."offset" from stated t where cardinality($11::text[]) = 0 or t.state = any ($11::text[])))
   order by received_at desc, shard_id, "offset" desc limit $6::bigint) w
  join inbox.event e using (shard_id, "offset", received_at)
  join inbox.shard h using (shard_id)) on true
order by e.received_at desc, e.shard_id, e."offset" desc
