-- Function inbox.backfill_bite. Locks: one row of backfill, SKIP LOCKED; dead letters that it answers. Indexes:
-- event_place; (handler_id, shard_id, offset) of dead_letter.
select owed_events, answered_letters from inbox.backfill_bite($1::int, $2::bigint)
