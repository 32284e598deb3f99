-- Lanes that nothing advances, because their first row is neither due nor leased; leased rows that are not the first of
-- their lane. At most $1 rows, with the number of all. No locks. Index: delivery_lane. Reads all rows of lanes.
with placed as (
  select d.handler_id, d.shard_id, d.sequence, d.lane, d.owner, d.due_at, lower(d.pending) as "offset",
         row_number() over (
           partition by d.handler_id, d.sequence, d.lane
           order by coalesce(d.ordinal, d.delivery_id),
                    case when d.sequence = 0 then d.received_from else '-infinity' end, d.shard_id, lower(d.pending))
           as place
  from inbox.delivery d where d.lane is not null)
select count(*) over (), h.name, s.topic, s.partition, p."offset", null::uuid, null::bigint,
       case when p.place = 1 then 'the first event of its key is neither due nor leased'
            else 'leased, but not the first event of its key' end
       || ': ' || p.handler_id || ', ' || p.sequence || ', ' || p.lane
from placed p join inbox.handler h using (handler_id) left join inbox.shard s using (shard_id)
where p.place = 1 and p.owner is null and p.due_at = 'infinity' or p.place > 1 and p.owner is not null
order by h.name, s.topic, s.partition, p."offset"
limit $1::int
