-- Waits for running ingest transactions and blocks new transactions, to the end of this transaction, which has to see
-- the stored rows. Locks: the advisory lock on routing.
select inbox.require_read_committed(), pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int)
