-- An event with all columns: shard $1, offset $2, received in [$3, $4); the newest row, if it was restored. No locks.
-- Index: event_place of these days.
select e.shard_id, s.topic, s.partition, e."offset", e.event_id, coalesce(e.source_id, e.event_id::text) as source_id,
       e.event_type, e.source, e.subject, e.key, length(e.payload) as payload_size,
       (extract(epoch from e.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from e.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from e.deliver_at) * 1000000)::bigint as deliver_at,
       (extract(epoch from e.received_at) * 1000000)::bigint as received_at, e.payload, e.decoded,
       e.headers
from inbox.event e join inbox.shard s using (shard_id)
where e.shard_id = $1::int and e."offset" = $2::bigint
  and e.received_at >= coalesce('epoch'::timestamptz + $3::bigint * interval '1 us', '-infinity')
  and e.received_at < coalesce('epoch'::timestamptz + $4::bigint * interval '1 us', 'infinity')
order by e.received_at desc limit 1
