-- Ends the handler's part of a transaction, after its role: the daemon's search path, its statement_timeout, and no
-- advisory locks of the session, which would outlive the transaction. No locks.
select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
       pg_catalog.set_config('statement_timeout', $1::pg_catalog.text, true),
       pg_catalog.pg_advisory_unlock_all()
