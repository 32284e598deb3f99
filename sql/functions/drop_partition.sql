-- Drops a day partition. Returns its name, or null if the day is needed again. Pending events of the day move to
-- partition event_kept first. Runs with the owner's rights. Locks: the partitioned table, then the day (ACCESS
-- EXCLUSIVE, in the order of every reader and writer) and event_kept. Need is checked again under the locks; the caller
-- limits the time by statement_timeout. Index: event_place.
create or replace function inbox.drop_partition(p_table text, p_keep interval, p_day text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  v_end timestamptz;
begin
  if p_table is null or p_table not in ('event', 'outcome', 'failure') or p_keep is null or p_keep < interval '0'
     or p_day is null or p_day !~ ('^' || p_table || '_[0-9]{8}$') then
    raise exception 'p_day must be a day of p_table, event, outcome or failure, and p_keep at least 0, not %, %, %',
                    p_day, p_table, p_keep using errcode = 'invalid_parameter_value';
  end if;
  perform inbox.require_read_committed();
  v_end := to_date(right(p_day, 8), 'YYYYMMDD') + 1;
  if v_end > clock_timestamp() - greatest(p_keep, interval '1 day') then
    return null;
  end if;
  execute format('lock table only inbox.%I in access exclusive mode', p_table);
  if to_regclass(format('inbox.%I', p_day)) is null then
    return null;  -- another instance has dropped it
  end if;
  execute format('lock table inbox.%I in access exclusive mode', p_day);
  if p_table = 'event' and inbox.is_day_needed(v_end) then
    return null;
  end if;
  if p_table = 'event' and exists (
    select from inbox.delivery d where d.received_from < v_end and d.received_to >= v_end - interval '1 day')
  then
    alter table inbox.event detach partition inbox.event_kept;
    -- Each event by itself: offset 0 keeps the planner from reading the whole day.
    execute format(
      'insert into inbox.event_kept select e.* from ('
      '  select distinct d.shard_id, o as place from inbox.delivery d, unnest(d.pending) r,'
      '    generate_series(lower(r), upper(r) - 1) o'
      '  where d.received_from < $1 and d.received_to >= $1 - interval ''1 day'') p '
      'cross join lateral ('
      '  select x.* from inbox.%I x where x.shard_id = p.shard_id and x."offset" = p.place offset 0) e', p_day)
    using v_end;
    execute format('drop table inbox.%I', p_day);
    execute format('alter table inbox.event attach partition inbox.event_kept for values from (minvalue) to (%L)',
                   v_end);
    return p_day;
  end if;
  execute format('drop table inbox.%I', p_day);
  return p_day;
end
$$;

-- Not for everybody: roles.sql names the roles that may call it.
revoke all on function inbox.drop_partition(text, interval, text) from public;
