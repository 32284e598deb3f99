-- tx_events as long as all payloads were JSON: `body` without a subtransaction for each of them (2.5 us). One that is
-- none ends the statement, which is then run with tx_events. No locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload,
         pg_catalog.convert_from(e.payload, 'UTF8')::pg_catalog.jsonb as body, inbox.headers_of(e.headers) as headers,
         e.occurred_at, e.received_at, e.attempt
  from inbox.call_events($1::int[], $2::bigint[], $3::bigint[], $4::timestamptz, $5::timestamptz, $6::int[]) e
  offset 0)
