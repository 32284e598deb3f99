-- A handler's transaction begins: role, search path (empty: the session's), how long its statements may take, and how
-- long it may stand still between them before the server ends the session. No locks.
select pg_catalog.set_config('role', $1::text, true),
       case when $2::text <> '' then pg_catalog.set_config('search_path', $2::text, true) end,
       pg_catalog.set_config('statement_timeout', $3::text, true),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $4::text, true)
