-- Relation `events` as long as all payloads were JSON: `body` without a subtransaction for each (2.5 µs). A payload
-- that is not JSON ends the statement, which then runs with tx_events. $10, $11: topics and their `unwrap`;
-- others have auto. No locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::pg_catalog.text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload,
         case when pg_catalog.jsonb_typeof(b.plain) operator(pg_catalog.=) 'object'
                and not b.plain operator(pg_catalog.?&) '{schema,payload}' then b.plain  -- saves 1.0 µs an event
              else inbox.unwrapped(b.plain, coalesce(
                ($11::pg_catalog.text[])[pg_catalog.array_position($10::pg_catalog.text[], e.topic)], 'auto'))
         end as body, inbox.headers_of(e.headers) as headers,
         e.occurred_at, e.received_at, e.attempt, e.key as key_bytes
  from inbox.call_events($1::int[], $2::bigint[], $3::bigint[], $4::pg_catalog.timestamptz,
                         $5::pg_catalog.timestamptz, $6::int[], $7::bigint[], $8::bigint[], $9::bigint[]) e
  cross join lateral (
    select pg_catalog.convert_from(coalesce(e.decoded, e.payload), 'UTF8')::pg_catalog.jsonb as plain offset 0) b
  offset 0)
