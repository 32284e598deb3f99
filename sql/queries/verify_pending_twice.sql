-- Offsets that are pending for a handler in two deliveries. At most $1 rows, with the number of all. No locks. Reads
-- and sorts all of delivery. Index: event_place, for the rows that it returns.
with reached as (
  select d.handler_id, d.shard_id, r as range, max(upper(r)) over (
           partition by d.handler_id, d.shard_id order by lower(r), upper(r)
           rows between unbounded preceding and 1 preceding) as reach
  from inbox.delivery d cross join unnest(d.pending) r),
twice as (
  select count(*) over () as total, r.* from reached r where lower(r.range) < r.reach
  order by r.handler_id, r.shard_id, lower(r.range) limit $1::int)
select t.total, h.name, s.topic, s.partition, lower(t.range),
       (select e.event_id from inbox.event e where e.shard_id = t.shard_id and e."offset" = lower(t.range) limit 1),
       null::bigint, null::text
from twice t left join inbox.handler h using (handler_id) left join inbox.shard s using (shard_id)
