-- Sets another role for the rest of a transaction. No locks.
select pg_catalog.set_config('role', $1::pg_catalog.text, true)
