-- Dead letters by handler $1 (null: all), event types $2 and classes of the last error $3 (LIKE patterns; none: all),
-- text in the last message $4, time of death in [$5, $6), and key $7 (null: all); newest first, at most $8. After dead
-- letter $10, which died at $9 (null: from the newest); $6 must be just after $9. No payload; keys up to the length
-- shown. No locks. Index: dead_letter_handler.
select x.dead_letter_id, h.name as handler, x.state, x.attempts,
       (extract(epoch from x.died_at) * 1000000)::bigint as died_at,
       coalesce(x.reasons -> -1 ->> 'error_class', '') as error_class,
       coalesce(x.reasons -> -1 ->> 'message', '') as last_error, x.notes, s.topic, s.partition, x."offset", x.event_id,
       coalesce(x.source_id, x.event_id::text) as source_id, x.event_type, x.source, x.subject,
       substr(x.key, 1, 257) as key, length(x.payload) as payload_size,
       (extract(epoch from x.occurred_at) * 1000000)::bigint as occurred_at,
       (extract(epoch from x.kafka_timestamp) * 1000000)::bigint as kafka_timestamp,
       (extract(epoch from x.deliver_at) * 1000000)::bigint as deliver_at,
       (extract(epoch from x.received_at) * 1000000)::bigint as received_at
from inbox.handler h
cross join lateral (
  select x.* from inbox.dead_letter x
  where x.handler_id = h.handler_id and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
    and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
    and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
    and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
    and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
    and ($7::bytea is null or x.key = $7::bytea)
    and ($9::bigint is null or x.died_at < 'epoch'::timestamptz + $9::bigint * interval '1 us'
         or x.dead_letter_id < $10::bigint)
  order by x.died_at desc, x.dead_letter_id desc limit $8::bigint) x
join inbox.shard s using (shard_id)
where $1::text is null or h.name = $1::text
order by x.died_at desc, x.dead_letter_id desc limit $8::bigint
