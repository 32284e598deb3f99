-- The oldest transaction that keeps vacuum from removing rows: a session, a prepared transaction or a replication slot.
-- Its age is known for the first two; for sessions of other roles only to members of pg_read_all_stats. No locks.
select holder, coalesce(pid, 0), name, coalesce(owner, ''), oldest::text,
       extract(epoch from clock_timestamp() - since)::bigint
from (
  select 'session', pid, coalesce(application_name, ''), usename::text, id, xact_start
  from pg_stat_activity cross join lateral (values (backend_xid), (backend_xmin)) transaction(id)
  where (datname = current_database() or datname is null) and usename is not null and pid <> pg_backend_pid()
  union all
  select 'prepared transaction', null, gid, owner::text, transaction, prepared
  from pg_prepared_xacts where database = current_database()
  union all
  select 'replication slot', active_pid, slot_name::text, null, xmin, null from pg_replication_slots
) who(holder, pid, name, owner, oldest, since)
where oldest is not null
order by age(oldest) desc, since, pid
limit 1
