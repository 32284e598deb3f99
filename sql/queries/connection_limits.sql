-- How many sessions the login, its database and the server allow; null: no limit, or it does not hold for the login. No
-- locks.
select r.rolname::text, case when r.rolconnlimit >= 0 and not r.rolsuper then r.rolconnlimit end,
       d.datname::text, case when d.datconnlimit >= 0 and not r.rolsuper then d.datconnlimit end,
       current_setting('max_connections')::int
         - case when r.rolsuper then 0
                else current_setting('superuser_reserved_connections')::int
                       + coalesce(current_setting('reserved_connections', true)::int, 0) end,
       pg_backend_pid()
from pg_roles r, pg_database d
where r.rolname = session_user and d.datname = current_database()
