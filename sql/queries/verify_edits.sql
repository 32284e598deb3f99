-- Edits of events that are stored neither as an event nor as a dead letter; maintenance deletes them within a day. At
-- most $1 rows, with the number of all. No locks. Indexes: unique key of dead_letter; event_place of all days. Reads
-- all of edit.
select count(*) over (), h.name, s.topic, s.partition, x."offset", x.event_id, null::bigint, x.edit_id::text
from inbox.edit x join inbox.handler h using (handler_id) join inbox.shard s using (shard_id)
where x.received_at < clock_timestamp() - interval '2 days' and x.edited_at < clock_timestamp() - interval '2 days'
  and not exists (
    select from inbox.dead_letter l
    where l.handler_id = x.handler_id and l.shard_id = x.shard_id and l."offset" = x."offset")
  and not exists (
    select from inbox.event e
    where e.shard_id = x.shard_id and e."offset" = x."offset" and e.event_id = x.event_id)
order by x.edit_id
limit $1::int
