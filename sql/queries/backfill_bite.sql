-- Function inbox.backfill_bite. Locks: one row of backfill, SKIP LOCKED. Index: event_place.
select inbox.backfill_bite($1::int, $2::bigint)
