-- Which handlers there are stays as it is to the end of this transaction, whose statements see who was added or retired
-- before; as ingest transactions hold it. Locks: shared, the advisory lock on routing.
select inbox.need_fresh_snapshots(), pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int)
