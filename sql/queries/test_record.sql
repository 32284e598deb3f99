-- For `inboxd test`: what became of the record at topic $1, partition $2, offset $3: an event, or quarantined for a
-- reason; no row: nothing was stored. Reads few rows. No locks.
select null as reason, e.event_id::text, e.source_id, e.event_type, e.key, null as detail
from inbox.events e where e.topic = $1 and e.partition = $2 and e."offset" = $3
union all
select q.reason, null, null, null, q.key, q.detail
from inbox.quarantined q where q.topic = $1 and q.partition = $2 and q."offset" = $3
