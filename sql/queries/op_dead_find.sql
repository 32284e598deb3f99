-- Dead letters with all columns: of ids $1 or of events $2, at most 100. No locks. Indexes: primary key;
-- dead_letter_event.
select x.dead_letter_id, h.name as handler, x.state, x.attempts,
       (extract(epoch from x.died_at) * 1000000)::bigint as died_at,
       coalesce(x.reasons -> -1 ->> 'error_class', '') as error_class,
       coalesce(x.reasons -> -1 ->> 'message', '') as last_error, coalesce(x.reasons, '[]') as reasons, x.notes,
       x.shard_id, s.topic, s.partition, x."offset", x.event_id, coalesce(x.source_id, x.event_id::text) as source_id,
       x.event_type, x.source, x.subject, x.key, length(x.payload) as payload_size,
       (extract(epoch from x.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from x.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from x.deliver_at) * 1000000)::bigint as deliver_at,
       (extract(epoch from x.received_at) * 1000000)::bigint as received_at, x.payload, x.decoded,
       x.headers
from inbox.dead_letter x join inbox.handler h using (handler_id) join inbox.shard s using (shard_id)
where x.dead_letter_id = any ($1::bigint[]) or x.event_id = any ($2::uuid[])
order by x.died_at, x.dead_letter_id limit 100
