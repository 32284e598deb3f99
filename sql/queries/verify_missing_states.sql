-- Events of shard $1 with offsets from $2 to $3 (exclusive), received since $4, without any state for a handler that
-- subscribed to them when they were stored. Likewise events that came on another topic (also_seen), for a handler that
-- subscribed to it and not to the topics before, as in inbox.handle_duplicates. An event that was restored later is
-- left out: its ledger row has another time, and its outcomes may be older than retention.outcomes. Events that were
-- stored while a handler was retired are left out, too. At most $5 rows, with the number of all. No locks. Indexes:
-- event_place, outcome_place; unique key of dead_letter; primary keys of ledger, also_seen and backfill. Reads all of
-- delivery.
with here as (
  select s.shard_id, s.topic, s.partition from inbox.shard s where s.shard_id = $1::int),
bounds as (
  select 'epoch'::timestamptz + $4::bigint * interval '1 us' as since),
subscribed as materialized (
  select h.handler_id, h.name, x.topics, x.types, x.begun, x.since, x.until
  from inbox.handler h
  cross join lateral (
    select s.topics, s.types,
           coalesce('epoch'::timestamptz + lag(s.until) over (order by s.until) * interval '1 us', '-infinity')
             as begun,  -- the first subscription counts before the handler existed (inbox.was_subscribed)
           greatest('epoch'::timestamptz + h.routing_version * interval '1 us',
                    'epoch'::timestamptz + lag(s.until) over (order by s.until) * interval '1 us',
                    (select max(a.occurred_at) from inbox.audit a
                     where a.operation = 'handlers restore' and a.target = any (h.aliases || h.name))) as since,
           coalesce('epoch'::timestamptz + s.until * interval '1 us', 'infinity') as until
    from (
      select f.topics, f.types, f.until from inbox.former_subscription f where f.handler_id = h.handler_id
      union all
      select h.topics, h.types, null) s) x
  where h.retired_at is null),
stored as materialized (
  select e."offset", e.event_id, e.event_type, e.received_at
  from inbox.event e
  where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
    and e.received_at >= (select since from bounds)),
elsewhere as materialized (
  select e."offset" as place, e.event_type as first_type, e.received_at, a.event_id, a.topic, a.event_type, a.seen_at
  from stored e
  join inbox.also_seen a on a.event_id = e.event_id and a.shard_id = $1::int and a."offset" = e."offset"),
expected as materialized (
  select x.handler_id, x.name, range_agg(int8range(x."offset", x."offset" + 1)) as offsets
  from (
    select u.handler_id, u.name, e."offset"
    from (select distinct event_type from stored) t
    cross join here
    join subscribed u on inbox.matches(here.topic, u.topics) and inbox.matches(t.event_type, u.types)
    join stored e on e.event_type = t.event_type and e.received_at >= u.since and e.received_at < u.until
    union all
    select u.handler_id, u.name, e.place
    from elsewhere e
    cross join here
    join subscribed u on inbox.matches(e.topic, u.topics) and inbox.matches(e.event_type, u.types)
                     and e.seen_at >= u.since and e.seen_at < u.until
    where not exists (
        select from subscribed w
        where w.handler_id = u.handler_id and inbox.matches(here.topic, w.topics)
          and inbox.matches(e.first_type, w.types) and e.received_at >= w.begun and e.received_at < w.until)
      and not exists (
        select from inbox.also_seen s
        join subscribed w on inbox.matches(s.topic, w.topics) and inbox.matches(s.event_type, w.types)
                         and s.seen_at >= w.begun and s.seen_at < w.until
        where s.event_id = e.event_id and (s.seen_at, s.topic) < (e.seen_at, e.topic)
          and w.handler_id = u.handler_id)) x
  group by x.handler_id, x.name),
known as materialized (
  select k.handler_id, range_agg(k.range) as offsets
  from (
    select d.handler_id, unnest(d.pending) as range from inbox.delivery d
    where d.shard_id = $1::int and d.pending && int8range($2::bigint, $3::bigint)
    union all
    select o.handler_id, unnest(o.offsets) from inbox.outcome o
    where o.shard_id = $1::int and lower(o.offsets) > $2::bigint - 10000 and lower(o.offsets) < $3::bigint
      and o.finished_at >= (select since from bounds) and o.outcome <> 'dead'  -- that has a dead letter
    union all
    select x.handler_id, int8range(x."offset", x."offset" + 1)
    from subscribed u join inbox.dead_letter x on x.handler_id = u.handler_id
    where x.shard_id = $1::int and x."offset" >= $2::bigint and x."offset" < $3::bigint
    union all
    select b.handler_id, int8range(b.next_offset, b.end_offset) from inbox.backfill b where b.shard_id = $1::int) k
  group by k.handler_id),
missing as (
  select x.handler_id, x.name, generate_series(lower(m.range), upper(m.range) - 1) as "offset"
  from expected x
  left join known k using (handler_id)
  cross join lateral unnest(x.offsets - coalesce(k.offsets, '{}')) m(range)),
lost as materialized (
  select m.handler_id, m.name, e.* from missing m join stored e on e."offset" = m."offset")
select count(*) over (), l.name, here.topic, here.partition, l."offset", l.event_id,
       (extract(epoch from l.received_at) * 1000000)::bigint,
       case when exists (
         select from inbox.outcome o
         where o.shard_id = $1::int and lower(o.offsets) > l."offset" - 10000 and lower(o.offsets) <= l."offset"
           and o.offsets @> l."offset" and o.handler_id = l.handler_id and o.outcome = 'dead')
       then 'it died, but has no dead letter' end
from lost l
cross join here
where (  -- limit: look up each id, instead of a join with all of the ledger
  select true from inbox.ledger g
  where g.event_id = l.event_id and g.shard_id = $1::int and g."offset" = l."offset"
    and g.received_at = l.received_at limit 1)
order by l."offset", l.name
limit $5::int
