-- A handler's transaction begins: role, search path (empty: the session's) and how long its statements may take. No
-- locks.
select pg_catalog.set_config('role', $1::text, true),
       case when $2::text <> '' then pg_catalog.set_config('search_path', $2::text, true) end,
       pg_catalog.set_config('statement_timeout', $3::text, true)
