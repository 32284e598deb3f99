-- Rows of a handler or a partition that does not exist. At most $1 rows, with the number of all. No locks. Reads all of
-- delivery, dead_letter, edit and quarantine.
with orphan as (
  select 'delivery ' || d.delivery_id as row, d.handler_id, d.shard_id, lower(d.pending) as "offset",
         null::uuid as event_id
  from inbox.delivery d
  union all
  select 'dead letter ' || x.dead_letter_id, x.handler_id, x.shard_id, x."offset", x.event_id from inbox.dead_letter x
  union all
  select 'edit ' || e.edit_id, e.handler_id, e.shard_id, e."offset", e.event_id from inbox.edit e
  union all
  select 'quarantined record ' || q.quarantine_id, null, q.shard_id, q."offset", q.event_id from inbox.quarantine q)
select count(*) over (), h.name, s.topic, s.partition, o."offset", o.event_id, null::bigint,
       o.row || case when s.shard_id is null then ': no partition ' || o.shard_id
                     else ': no handler ' || o.handler_id end
from orphan o left join inbox.handler h using (handler_id) left join inbox.shard s using (shard_id)
where s.shard_id is null or o.handler_id is not null and h.handler_id is null
order by o.row
limit $1::int
