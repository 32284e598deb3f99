-- What a handler left in its session, asked after COMMIT; it is undone. No locks.
select inbox.session_left($1::pg_catalog.text[], pg_catalog.current_setting('search_path'))
