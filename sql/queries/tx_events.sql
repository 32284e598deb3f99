-- Relation `events`, put before a handler's statement, with its parameters numbered after the handler's own. Columns:
-- type inbox.message. Never materialized, so that unused columns are not computed; OFFSET 0, so that a column used
-- twice is computed once. $10: a payload that is not JSON is an error. $11, $12: topics and their `unwrap`;
-- others have auto. No locks. Index: event_place of the days in which the events were received.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::pg_catalog.text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload,
         inbox.unwrapped(inbox.body_of(coalesce(e.decoded, e.payload), $10::boolean),
                         coalesce(($12::pg_catalog.text[])[pg_catalog.array_position($11::pg_catalog.text[], e.topic)],
                                  'auto')) as body, inbox.headers_of(e.headers) as headers, e.occurred_at,
         e.received_at, e.attempt, e.key as key_bytes
  from inbox.call_events($1::int[], $2::bigint[], $3::bigint[], $4::pg_catalog.timestamptz,
                         $5::pg_catalog.timestamptz, $6::int[], $7::bigint[], $8::bigint[], $9::bigint[]) e
  offset 0)
