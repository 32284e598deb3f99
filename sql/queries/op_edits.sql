-- Edits of event $3 at shard $1, offset $2, by handler. No locks. Index: unique key of edit, for each handler.
select h.name as handler, (extract(epoch from x.edited_at) * 1000000)::bigint as edited_at, x.edited_by,
       length(x.payload) as payload_size, x.payload, x.headers
from inbox.handler h join inbox.edit x using (handler_id)
where x.shard_id = $1::int and x."offset" = $2::bigint and x.event_id = $3::uuid
order by h.name
