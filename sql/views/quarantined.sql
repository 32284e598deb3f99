-- Records that could not become events. Headers as JSON.
create or replace view inbox.quarantined as
select q.quarantine_id, s.topic, s.partition, q."offset", q.reason, q.detail, q.event_id, q.key, q.payload,
       q.payload_size, inbox.headers_of(q.headers) as headers, q.kafka_timestamp, q.received_at
from inbox.quarantine q join inbox.shard s using (shard_id);
