-- Allows a single replay at a time, to the end of this transaction: two replays that restore the same dropped event
-- must see each other's. Locks: that advisory lock.
select pg_advisory_xact_lock(1768841850, 'inbox.dead_letter'::regclass::oid::int)
