-- Settings of a handler's transaction: search_path (empty: the session's), statement_timeout,
-- idle_in_transaction_session_timeout, lock_timeout (empty: the session's). Runs under the application's search path,
-- so that no name depends on it. No locks.
select case when $1::pg_catalog.text operator(pg_catalog.<>) ''
            then pg_catalog.set_config('search_path', $1::pg_catalog.text, true) end,
       pg_catalog.set_config('statement_timeout', $2::pg_catalog.text, true),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $3::pg_catalog.text, true),
       case when $4::pg_catalog.text operator(pg_catalog.<>) ''
            then pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, true) end
