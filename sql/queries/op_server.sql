-- Facts about the server and the session, for `check`; may be asked before any migration. No locks.
select current_setting('server_version_num')::int, current_setting('server_version'),
       pg_backend_pid(), current_user::text,
       exists (select from pg_namespace n where 'inbox.' = n.nspname || '.'), current_setting('jit')::boolean,
       current_setting('lock_timeout') = '0' or current_setting('client_connection_check_interval', true) = '0'
         or current_setting('idle_in_transaction_session_timeout') = '0',
       current_setting('transaction_isolation'),
       array(select name::text from unnest(array['fsync', 'full_page_writes', 'synchronous_commit']) name
             where current_setting(name) = 'off')
