-- Relation `events` from parameters, for a call of few events that the daemon has in memory. Reading them in place
-- locks each day of the inbox, which pays only for many events. $17, $18: topics and their `unwrap`; others have
-- auto. No locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::pg_catalog.text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload,
         inbox.unwrapped(inbox.body_of(coalesce(e.decoded, e.payload), $16::boolean),
                         coalesce(($18::pg_catalog.text[])[pg_catalog.array_position($17::pg_catalog.text[], e.topic)],
                                  'auto')) as body, inbox.headers_of(e.headers) as headers, e.occurred_at,
         e.received_at, e.attempt, e.key as key_bytes
  from unnest($1::bigint[], $2::pg_catalog.uuid[], $3::pg_catalog.text[], $4::pg_catalog.text[],
              $5::pg_catalog.text[], $6::pg_catalog.text[], $7::pg_catalog.bytea[], $8::pg_catalog.bytea[],
              $9::pg_catalog.bytea[], $10::pg_catalog.bytea[], $11::pg_catalog.timestamptz[], $12::pg_catalog.text[],
              $13::int[], $14::pg_catalog.timestamptz[], $15::int[])
       e("offset", event_id, source_id, event_type, source, subject, key, payload, decoded, headers, occurred_at,
         topic, partition, received_at, attempt)
  offset 0)
