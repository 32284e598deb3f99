-- Quarantined records $1 with all columns, as a retry decodes them, in order of their offsets; deleted records are left
-- out. log_id: as in find_position. No locks. Index: primary key.
select q.quarantine_id, q.shard_id, s.topic, s.partition, q."offset",
       s.incarnation || case when s.truncations > 0 then '~' || s.truncations else '' end as log_id,
       q.key, q.payload, q.headers, (extract(epoch from q.kafka_timestamp) * 1000000)::bigint
from inbox.quarantine q join inbox.shard s using (shard_id)
where q.quarantine_id = any ($1::bigint[])
order by s.topic, s.partition, s.ordinal, q."offset", q.quarantine_id
