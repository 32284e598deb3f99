-- The handler's part of a transaction ends: the daemon is itself again, its plans fit the search path, and advisory
-- locks of the session, which would outlive it, are given back. No locks.
select pg_catalog.set_config('role', 'none', true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
       pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true),
       pg_catalog.pg_advisory_unlock_all()
