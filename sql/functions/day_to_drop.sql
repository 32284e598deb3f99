-- The oldest day partition of a table that is older than p_keep and than a day (make_partitions would create
-- yesterday's again), and that may go (inbox.is_day_needed); or null. No locks, however long it looks.
create or replace function inbox.day_to_drop(p_table text, p_keep interval) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  v_name text;
  v_end timestamptz;
begin
  if p_table is null or p_table not in ('event', 'outcome', 'failure') or p_keep is null or p_keep < interval '0' then
    raise exception 'p_table must be event, outcome or failure and p_keep at least 0, not %, %', p_table, p_keep
      using errcode = 'invalid_parameter_value';
  end if;
  for v_name, v_end in
    select c.relname, to_date(right(c.relname, 8), 'YYYYMMDD') + 1
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('inbox.%I', p_table)::regclass and c.relname ~ ('^' || p_table || '_[0-9]{8}$')
    order by c.relname
  loop
    exit when v_end > clock_timestamp() - greatest(p_keep, interval '1 day');
    if p_table <> 'event' or not inbox.is_day_needed(v_end) then
      return v_name;
    end if;
  end loop;
  return null;
end
$$;
