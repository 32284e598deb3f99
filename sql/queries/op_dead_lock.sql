-- One replay at a time, for this transaction only: two that restore the same purged event must see each other's.
-- Locks: that advisory lock.
select pg_advisory_xact_lock(1768841850, 'inbox.dead_letter'::regclass::oid::int)
