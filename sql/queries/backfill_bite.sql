-- Runs a chunk of a backfill: function inbox.backfill_bite. Locks: a row of backfill, SKIP LOCKED; dead letters of its
-- events. Indexes: event_place; (handler_id, shard_id, offset) of dead_letter.
select delivered_events, deleted_letters from inbox.backfill_bite($1::int, $2::bigint)
