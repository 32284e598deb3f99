-- Waits until running ingest transactions have ended and keeps new ones out, to the end of this transaction, which has
-- to see what they stored. Locks: the advisory lock on routing.
select inbox.need_fresh_snapshots(), pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int)
