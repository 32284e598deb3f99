-- Runs a bite of the `handlers backfill` of a handler of $1, of at most $2 events (a limit for each handler) and about
-- $3 bytes: function inbox.feed_backfill, which names locks and indexes.
select state, handler_id, read, events, letters, wait_ms from inbox.feed_backfill($1::int[], $2::int[], $3::bigint)
