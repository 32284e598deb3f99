-- Dead letters with the class and message of the last error. Headers as JSON.
create or replace view inbox.dead_letters as
select x.dead_letter_id, h.name as handler, x.event_id, coalesce(x.source_id, x.event_id::text) as source_id, s.topic,
       s.partition, x."offset", x.event_type, x.source, x.subject, x.key, x.payload,
       inbox.headers_of(x.headers) as headers, x.occurred_at, x.received_at, x.attempts, x.state, x.died_at,
       x.reasons -> -1 ->> 'error_class' as error_class, x.reasons -> -1 ->> 'message' as last_error, x.reasons, x.notes
from inbox.dead_letter x join inbox.handler h using (handler_id) join inbox.shard s using (shard_id);
