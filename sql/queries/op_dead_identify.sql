-- Events of dead letters that an ID may mean: event_id $1, the producer's text $2, or topic $3, partition $4 and offset
-- $5; each may be null. At most 10. No locks. Indexes: dead_letter_event, and the unique key by handler and offset. The
-- producer's text has no index: if the others find nothing, all dead letters are read, without payloads.
with by_id as materialized (
  select x.dead_letter_id from inbox.dead_letter x where x.event_id = $1::uuid),
by_place as materialized (
  select x.dead_letter_id
  from inbox.shard s cross join inbox.handler h join inbox.dead_letter x using (handler_id, shard_id)
  where s.topic = $3::text and s.partition = $4::int and x."offset" = $5::bigint),
by_text as materialized (
  select x.dead_letter_id from inbox.dead_letter x
  where x.source_id = $2::text and not exists (select from by_id) and not exists (select from by_place))
select distinct on (x.event_id, x.shard_id, x."offset") x.shard_id, s.topic, s.partition, x."offset", x.event_id,
       coalesce(x.source_id, x.event_id::text) as source_id, x.event_type, x.source, x.subject,
       substr(x.key, 1, 257) as key, length(x.payload) as payload_size,
       (extract(epoch from x.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from x.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from x.deliver_at) * 1000000)::bigint as deliver_at,
       (extract(epoch from x.received_at) * 1000000)::bigint as received_at
from (select dead_letter_id from by_id union select dead_letter_id from by_place
      union select dead_letter_id from by_text) found
join inbox.dead_letter x using (dead_letter_id) join inbox.shard s using (shard_id)
order by x.event_id, x.shard_id, x."offset" limit 10
