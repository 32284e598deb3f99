-- Undoes session state that a handler left: function inbox.reset_session, called after COMMIT. No locks.
select inbox.reset_session($1::pg_catalog.text[], pg_catalog.current_setting('search_path'))
