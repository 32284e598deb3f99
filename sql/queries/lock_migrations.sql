-- Allows a single migrator at a time, to the end of this transaction; works with a transaction pooler. Locks: an
-- advisory lock of this schema.
select pg_advisory_xact_lock(1768841850, hashtext($1::text))
