-- Events of shard $1 with offsets from $2 to $3 (exclusive) that have two states for a handler: pending or done, and a
-- dead letter; pending and done; done twice. Three kinds of outcomes do not count, as events may be delivered again:
-- those before the handler's last `handlers backfill`; those before the end of one with --again, which takes events
-- that were pending when it began, too; and those before the partition's last `partitions seek` from the offset on
-- where a seek began.
-- At most $4 rows, with the number of all. No locks. Indexes: outcome_place; primary key of position; unique key of
-- dead_letter; event_place. Reads all of delivery and audit.
with here as (
  select s.shard_id, s.topic, s.partition from inbox.shard s where s.shard_id = $1::int),
backfilled as materialized (
  select x.handler_id, max(x.at) as at
  from (select h.handler_id, a.occurred_at as at
        from inbox.audit a join inbox.handler h on a.target = any (h.aliases || h.name)
        where a.operation = 'handlers backfill'
        union all
        select q.handler_id, coalesce(q.ended_at, 'infinity') from inbox.backfill_request q where q.again) x
  group by x.handler_id),
sought as materialized (  -- the column detail, with the offsets of each seek, is not for role monitor
  select max(a.occurred_at) as at,
         coalesce((select min(p.next_offset) from inbox.position p
                   where p.shard_id = $1::int and p.epoch > 0 and p.first_offset = -1), 0) as first
  from inbox.audit a join here on a.target = here.topic || '/' || here.partition
  where a.operation = 'partitions seek'),
pending as materialized (
  select d.handler_id, range_agg(r) as offsets
  from inbox.delivery d cross join unnest(d.pending) r
  where d.shard_id = $1::int and d.pending && int8range($2::bigint, $3::bigint)
  group by d.handler_id),
done as materialized (
  select o.handler_id, o.finished_at, r as range
  from inbox.outcome o
  cross join sought s
  left join backfilled b using (handler_id)
  cross join unnest(case when o.finished_at <= s.at then o.offsets - int8multirange(int8range(s.first, null))
                         else o.offsets end) r
  where o.shard_id = $1::int and lower(o.offsets) > $2::bigint - 10000 and lower(o.offsets) < $3::bigint
    and o.outcome in ('done', 'skipped') and o.finished_at > coalesce(b.at, '-infinity')),
letter as materialized (
  select x.handler_id, x."offset", x.died_at
  from inbox.handler h join inbox.dead_letter x on x.handler_id = h.handler_id
  where x.shard_id = $1::int and x."offset" >= $2::bigint and x."offset" < $3::bigint),
reached as (
  select d.handler_id, d.range, max(upper(d.range)) over (
           partition by d.handler_id order by lower(d.range), upper(d.range)
           rows between unbounded preceding and 1 preceding) as reach
  from done d),
twice as (
  select l.handler_id, l."offset", 'pending, and a dead letter' as states
  from letter l join pending p on p.handler_id = l.handler_id and p.offsets @> l."offset"
  union all
  select l.handler_id, l."offset", 'done, and a dead letter'
  from letter l join done d on d.handler_id = l.handler_id and d.range @> l."offset" and d.finished_at > l.died_at
  union all
  select p.handler_id, lower(c), 'pending, and done'
  from pending p
  join (select d.handler_id, range_agg(d.range) as offsets from done d group by d.handler_id) d using (handler_id)
  cross join unnest(p.offsets * d.offsets) c
  union all
  select r.handler_id, lower(r.range), 'done twice' from reached r where lower(r.range) < r.reach)
select count(*) over (), h.name, here.topic, here.partition, t."offset",
       (select e.event_id from inbox.event e where e.shard_id = $1::int and e."offset" = t."offset" limit 1),
       null::bigint, t.states
from twice t cross join here join inbox.handler h using (handler_id)
where t."offset" >= $2::bigint and t."offset" < $3::bigint
order by t."offset", h.name
limit $4::int
