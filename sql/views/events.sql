-- Stored events, headers as JSON. event has no index by event_id: a query by it reads all days.
create or replace view inbox.events as
select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, s.topic, s.partition, e."offset", e.event_type,
       e.source, e.subject, e.key, e.payload, inbox.headers_of(e.headers) as headers, e.occurred_at, e.received_at,
       e.deliver_at
from inbox.event e join inbox.shard s using (shard_id);
