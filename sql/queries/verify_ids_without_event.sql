-- Ids in blocks $1 to $2 (exclusive) of the ledger whose events are not stored, although they should be: received since
-- $4, for the shard with that number in $3. An event is left out if it was handled, and deleted under an earlier,
-- shorter retention: it has an outcome, and an outcome or a dead letter of each handler that then subscribed to all
-- types of its topic. Its own type went with its row; dead letters before $6 may have been deleted. At most $5 rows,
-- with the number of all. No locks. Indexes: event_place, outcome_place; unique key of dead_letter. Reads these blocks.
with id as materialized (
  select l.event_id, l.shard_id, l."offset", l.received_at
  from inbox.ledger l
  join unnest($3::int[], $4::bigint[]) c(shard_id, since) using (shard_id)
  where l.ctid >= format('(%s,0)', $1::bigint)::tid and l.ctid < format('(%s,0)', $2::bigint)::tid
    and l.received_at >= 'epoch'::timestamptz + c.since * interval '1 us'),
lost as materialized (
  select i.* from id i
  where not exists (
      select from inbox.event e
      where e.shard_id = i.shard_id and e."offset" = i."offset" and e.received_at = i.received_at
        and e.event_id = i.event_id)
    and not exists (  -- restored: on a later day
      select from inbox.event e
      where e.shard_id = i.shard_id and e."offset" = i."offset" and e.event_id = i.event_id)),
bounds as materialized (
  select l.shard_id, min(l."offset") as first, max(l."offset") as last from lost l group by l.shard_id),
outcomes as materialized (
  select o.shard_id, o.handler_id, range_agg(r) as offsets
  from bounds b
  join inbox.outcome o
    on o.shard_id = b.shard_id and lower(o.offsets) > b.first - 10000 and lower(o.offsets) <= b.last
  cross join unnest(o.offsets) r
  group by o.shard_id, o.handler_id),
letters as materialized (
  select x.shard_id, x.handler_id, range_agg(int8range(x."offset", x."offset" + 1)) as offsets
  from bounds b
  cross join inbox.handler h
  join inbox.dead_letter x
    on x.handler_id = h.handler_id and x.shard_id = b.shard_id and x."offset" >= b.first and x."offset" <= b.last
  group by x.shard_id, x.handler_id),
subscribed as materialized (
  select h.handler_id, x.topics, x.since, x.until
  from inbox.handler h
  cross join lateral (
    select s.topics, s.types,
           greatest('epoch'::timestamptz + h.routing_version * interval '1 us',
                    'epoch'::timestamptz + lag(s.until) over (order by s.until) * interval '1 us',
                    'epoch'::timestamptz + $6::bigint * interval '1 us',
                    (select max(a.occurred_at) from inbox.audit a
                     where a.operation = 'handlers restore' and a.target = any (h.aliases || h.name))) as since,
           coalesce('epoch'::timestamptz + s.until * interval '1 us', 'infinity') as until
    from (
      select f.topics, f.types, f.until from inbox.former_subscription f where f.handler_id = h.handler_id
      union all
      select h.topics, h.types, null) s) x
  where h.retired_at is null and cardinality(x.types) = 0),
expected as (
  select l.shard_id, u.handler_id, range_agg(int8range(l."offset", l."offset" + 1)) as offsets
  from bounds b
  join inbox.shard s using (shard_id)
  join subscribed u on inbox.matches(s.topic, u.topics)
  join lost l on l.shard_id = b.shard_id and l.received_at >= u.since and l.received_at < u.until
  group by l.shard_id, u.handler_id),
unhandled as materialized (
  select x.shard_id, range_agg(r) as offsets
  from expected x
  left join outcomes o using (shard_id, handler_id)
  left join letters d using (shard_id, handler_id)
  cross join unnest(x.offsets - coalesce(o.offsets, '{}') - coalesce(d.offsets, '{}')) r
  group by x.shard_id),
handled as materialized (
  select o.shard_id, range_agg(r) as offsets from outcomes o cross join unnest(o.offsets) r group by o.shard_id)
select count(*) over (), null::text, s.topic, s.partition, l."offset", l.event_id,
       (extract(epoch from l.received_at) * 1000000)::bigint, null::text
from lost l
join inbox.shard s using (shard_id)
left join handled h using (shard_id)
left join unhandled u using (shard_id)
where not coalesce(h.offsets @> l."offset", false) or coalesce(u.offsets @> l."offset", false)
order by s.topic, s.partition, l."offset"
limit $5::int
