-- Relation `events` of a handler's statement, put before it; the parameters are numbered behind the handler's own.
-- Never materialized, so that what the statement does not ask for is not computed; OFFSET 0, so that what it asks for
-- twice is computed once. Columns: type inbox.message. Index: event_place of the days the events were received in. No
-- locks.
events as not materialized (
  select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, e.topic, e.partition, e."offset",
         e.event_type, e.source, e.subject, inbox.key_of(e.key) as key, e.payload, inbox.body_of(e.payload) as body,
         inbox.headers_of(e.headers) as headers, e.occurred_at, e.received_at, e.attempt
  from inbox.call_events($1::int[], $2::bigint[], $3::bigint[], $4::timestamptz, $5::timestamptz, $6::int[]) e
  offset 0)
