-- Quarantined records with all columns: id $1, or topic $2, partition $3 and offset $4. No locks. Indexes: primary key;
-- quarantine_place.
select q.quarantine_id, q.reason, q.detail, q.event_id, q.payload_size, s.topic, s.partition, q."offset",
       q.key, (extract(epoch from q.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from q.received_at) * 1000000)::bigint as received_at, q.payload, q.headers
from inbox.quarantine q join inbox.shard s using (shard_id)
where q.quarantine_id = $1::bigint
   or (q."offset" = $4::bigint
       and q.shard_id in (select p.shard_id from inbox.shard p where p.topic = $2::text and p.partition = $3::int))
order by q.quarantine_id limit 100
