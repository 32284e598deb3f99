-- The transactions older than $1 that run. No locks.
select x::text::bigint from pg_snapshot_xip(pg_current_snapshot()) x where x < $1::text::xid8
