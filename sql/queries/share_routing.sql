-- Keeps the handlers as they are to the end of this transaction, as ingest does; its statements see earlier changes.
-- Locks: shared, the advisory lock on routing.
select inbox.require_read_committed(), pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int)
