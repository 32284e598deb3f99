-- The id that the next transaction gets, and the oldest transaction that runs. No locks.
select pg_snapshot_xmax(s)::text::bigint, pg_snapshot_xmin(s)::text::bigint from pg_current_snapshot() s
