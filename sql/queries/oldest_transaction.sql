-- Who keeps vacuum from cleaning up behind the oldest transaction: a session, a prepared transaction or a replication
-- slot. Since when is told of the first two; of other roles' sessions only to members of pg_read_all_stats. The rest
-- everybody may see. No locks.
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
