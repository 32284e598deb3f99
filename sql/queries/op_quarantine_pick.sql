-- The records that a retry or discard means, in order of their offsets: $1 to $4 as in op_quarantine_list, ids $5
-- (null: any), at most $6. Returns the bytes of each, and whether it was kept: of a record that was too large only size
-- and digest are kept. Such records come last. No locks. Index: primary key if ids are given.
select q.quarantine_id, s.topic,
       coalesce(octet_length(q.key), 0) + coalesce(octet_length(q.payload), 0) + coalesce(octet_length(q.headers), 0),
       q.forgotten_at is null
         and (q.reason <> 'too_large' or q.key is not null or q.payload is not null) as was_kept
from inbox.quarantine q join inbox.shard s using (shard_id)
where (cardinality($1::text[]) = 0 or s.topic like any ($1::text[]))
  and (cardinality($2::text[]) = 0 or q.reason like any ($2::text[]))
  and ($3::bigint is null or q.received_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
  and ($4::bigint is null or q.received_at < 'epoch'::timestamptz + $4::bigint * interval '1 us')
  and ($5::bigint[] is null or q.quarantine_id = any ($5::bigint[]))
order by was_kept desc, s.topic, s.partition, s.ordinal, q."offset", q.quarantine_id limit $6::bigint
