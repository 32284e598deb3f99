-- Session state that a handler made and COMMIT would not end: session advisory locks, which are released here, and
-- cursors WITH HOLD. Null: none. Called with the daemon's rights under any search path. No locks.
create or replace function inbox.check_session() returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_locks int;
  v_cursors text;
begin
  -- Only locks of the session can be unlocked; locks of the transaction return false.
  with mine as materialized (
    select l.classid, l.objid, l.objsubid, l.mode from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_catalog.pg_backend_pid() and l.granted)
  select count(*) into v_locks from mine
  where case
    when objsubid = 1 and mode = 'ExclusiveLock' then pg_advisory_unlock((classid::bigint << 32) | objid::bigint)
    when objsubid = 1 then pg_advisory_unlock_shared((classid::bigint << 32) | objid::bigint)
    when mode = 'ExclusiveLock' then pg_advisory_unlock(classid::int, objid::int)
    else pg_advisory_unlock_shared(classid::int, objid::int) end;
  if v_locks > 0 then
    return 'took a session advisory lock; use pg_advisory_xact_lock, which ends with the transaction';
  end if;
  select string_agg(c.name, ', ') into v_cursors from pg_catalog.pg_cursors c where c.is_holdable;
  if v_cursors is not null then
    return 'opened the cursor ' || v_cursors || ' WITH HOLD; declare it without';
  end if;
  return null;
end
$$;
