-- The same relation where a call has few events and the daemon has them at hand: their columns are sent. Reading them
-- in place costs a lock on each day of the inbox, which only many events are worth. No locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload, inbox.body_of(e.payload) as body,
         inbox.headers_of(e.headers) as headers, e.occurred_at, e.received_at, e.attempt
  from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::text[], $8::text[],
              $9::bytea[], $10::bytea[], $11::bytea[], $12::timestamptz[], $13::timestamptz[], $14::int[])
       e(event_id, source_id, topic, partition, "offset", event_type, source, subject, key, payload, headers,
         occurred_at, received_at, attempt)
  offset 0)
