-- The same relation where a call has few events and the daemon has them at hand: their columns are sent. Reading them
-- in place costs a lock on each day of the inbox, which only many events are worth. No locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload, inbox.body_of(e.payload) as body,
         inbox.headers_of(e.headers) as headers, e.occurred_at, e.received_at, e.attempt
  from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[],
              $9::bytea[], $10::timestamptz[], $11::text[], $12::int[], $13::timestamptz[], $14::int[])
       e("offset", event_id, source_id, event_type, source, subject, key, payload, headers, occurred_at, topic,
         partition, received_at, attempt)
  offset 0)
