-- Creates day partitions from yesterday to p_days ahead. Returns how many it created. Runs with the owner's rights, so
-- that the daemon needs no right to create tables. Locks: an advisory lock; where a day is missing, the partitioned
-- table, briefly.
create or replace function inbox.make_partitions(p_days int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  v_made int := 0;
  v_table text;
  v_day date;
  v_name text;
begin
  if p_days is null or p_days not between 0 and 400 then
    raise exception 'p_days must be between 0 and 400, not %', p_days using errcode = 'invalid_parameter_value';
  end if;
  -- A single caller at a time, to the end of this transaction (works with a transaction pooler).
  perform pg_advisory_xact_lock(1768841849, 'inbox.routing'::regclass::oid::int);
  foreach v_table in array array['event', 'outcome', 'failure'] loop
    for v_day in select d::date from generate_series(current_date - 1, current_date + p_days, interval '1 day') d loop
      v_name := v_table || '_' || to_char(v_day, 'YYYYMMDD');
      if to_regclass(format('inbox.%I', v_name)) is null then
        -- Created apart and attached: ATTACH takes a lock that allows reads and writes. Without a replica identity a
        -- publication for all tables would refuse updates and deletions.
        execute format('create table inbox.%I (like inbox.%I including defaults including constraints)', v_name,
                       v_table);
        execute format('alter table inbox.%I replica identity full', v_name);
        execute format('alter table inbox.%I attach partition inbox.%I for values from (%L) to (%L)', v_table, v_name,
                       v_day::timestamptz, (v_day + 1)::timestamptz);
        v_made := v_made + 1;
      end if;
    end loop;
  end loop;
  return v_made;
end
$$;

-- Not for everybody: roles.sql names the roles that may call it.
revoke all on function inbox.make_partitions(int) from public;
