-- Of handlers $1 and events $2: the message of the last failed attempt, for callers who may see content of events. No
-- locks. Index: failure_event.
select g.handler_id, f.message
from unnest($1::int[], $2::uuid[]) g(handler_id, event_id)
cross join lateral (
  select x.message from inbox.failure x
  where x.event_id = g.event_id and x.handler_id = g.handler_id
  order by x.occurred_at desc limit 1) f
