-- Quarantined records of topics $1 and reasons $2 (LIKE patterns; none: all), received in [$3, $4), with numbers below
-- $6 (null: any); newest first, at most $5. No payload; keys up to the length shown. No locks. Index: primary key,
-- backwards.
select q.quarantine_id, q.reason, q.detail, q.event_id, q.payload_size, s.topic, s.partition, q."offset",
       substr(q.key, 1, 257) as key, (extract(epoch from q.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from q.received_at) * 1000000)::bigint as received_at
from inbox.quarantine q join inbox.shard s using (shard_id)
where (cardinality($1::text[]) = 0 or s.topic like any ($1::text[]))
  and (cardinality($2::text[]) = 0 or q.reason like any ($2::text[]))
  and ($3::bigint is null or q.received_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
  and ($4::bigint is null or q.received_at < 'epoch'::timestamptz + $4::bigint * interval '1 us')
  and ($6::bigint is null or q.quarantine_id < $6::bigint)
order by q.quarantine_id desc limit $5::bigint
