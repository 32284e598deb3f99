-- Drops the oldest generation of the ledger that was frozen more than p_keep ago, with its filter and its ids' rows of
-- also_seen. An id that comes again is then a new event on each of its topics. A generation with an id at or above the
-- position of its shard stays: if a position moves back, its records are read again. Subscriptions of that time are
-- deleted two days later, unless a backfill needs them. Runs with the owner's rights.
--
-- dropped: its number, null: none is due. pinned: the number of generations that a position keeps. Locks: the exclusive
-- advisory lock on routing, which waits for running batches; then the ledger (ACCESS EXCLUSIVE), briefly. Reads all of
-- the generation, before it locks. Index: primary key of position.
create or replace function inbox.drop_generation(
  p_keep interval, out dropped int, out ids bigint, out pinned int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' set jit = off as $$
declare
  v_old inbox.ledger_generation;
  v_name text;
  v_is_needed boolean;
begin
  if p_keep is null or p_keep < interval '0' then
    raise exception 'p_keep must be at least 0, not %', p_keep using errcode = 'invalid_parameter_value';
  end if;
  perform inbox.require_read_committed();
  pinned := 0;
  for v_old in
    select g.* from inbox.ledger_generation g where g.frozen_at < clock_timestamp() - p_keep order by g.generation
  loop
    v_name := 'ledger_g' || v_old.generation;
    execute format(
      'with newest as materialized ('
      '  select s.shard_id, p.next_offset from inbox.shard s cross join lateral ('
      '    select x.next_offset from inbox.position x where x.shard_id = s.shard_id'
      '    order by x.epoch desc, x.first_offset desc limit 1) p) '
      'select exists (select from inbox.%I l join newest n using (shard_id) where l."offset" >= n.next_offset)', v_name)
    into v_is_needed;
    if v_is_needed then
      pinned := pinned + 1;
      continue;
    end if;
    perform pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int);
    lock table only inbox.ledger in access exclusive mode;
    delete from inbox.ledger_generation g where g.generation = v_old.generation;
    if not found then
      return;  -- another instance dropped it
    end if;
    execute format('delete from inbox.also_seen s where exists (select from inbox.%I l where l.event_id = s.event_id)',
                   v_name);
    ids := (select c.reltuples from pg_class c where c.oid = format('inbox.%I', v_name)::regclass);
    execute format('drop table inbox.%I', v_name);
    update inbox.ledger_trim set forgotten_before = greatest(forgotten_before, v_old.frozen_at);
    delete from inbox.former_subscription f
    where to_timestamp(f.until::float8 / 1000000::float8) < v_old.frozen_at - interval '2 days'
      and not exists (select from inbox.backfill b where b.handler_id = f.handler_id);
    update inbox.routing set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
    dropped := v_old.generation;
    return;
  end loop;
end
$$;

-- Not for everybody: roles.sql names the roles that may call it.
revoke all on function inbox.drop_generation(interval) from public;
