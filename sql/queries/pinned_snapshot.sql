-- The session that has kept the oldest snapshot for longer than asked: vacuum cannot clean up behind it. No locks.
select pid, coalesce(application_name, ''), coalesce(usename, ''),
       extract(epoch from clock_timestamp() - xact_start)::bigint
from pg_stat_activity
where backend_xmin is not null and datname = current_database() and pid <> pg_backend_pid()
  and xact_start < clock_timestamp() - $1::bigint * interval '1 ms'
order by xact_start limit 1
