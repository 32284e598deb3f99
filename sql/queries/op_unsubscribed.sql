-- Counts of stored events without a subscribed handler, the largest first, at most $1; without counts of events that a
-- handler subscribes to by now. No locks; the table is small.
select u.topic, u.event_type, u.events
from inbox.unsubscribed u
where not exists (
  select from inbox.handler h
  where h.retired_at is null and inbox.matches(u.topic, h.topics) and inbox.matches(u.event_type, h.types))
order by u.events desc, u.topic, u.event_type
limit $1::int
