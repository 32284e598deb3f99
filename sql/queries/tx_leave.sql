-- The handler's part of a transaction ends: the daemon is itself again, and its plans fit the search path. No locks.
select pg_catalog.set_config('role', 'none', true),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
       pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true)
