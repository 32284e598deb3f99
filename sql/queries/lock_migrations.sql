-- One migrator at a time, to the end of this transaction: works through a transaction pooler. The key is the schema's.
-- Locks: that advisory lock.
select pg_advisory_xact_lock(1768841850, hashtext($1::text))
