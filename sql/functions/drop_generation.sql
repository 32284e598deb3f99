-- Drops the oldest generation of the ledger that was frozen more than p_keep ago, with its filter and its ids' rows of
-- also_seen. An id that comes again is then a new event on each of its topics. A generation stays while the position of
-- a shard is below its position at the freeze: it has moved back, and the records that are read again are absorbed.
-- Subscriptions of that time are deleted two days later, unless a backfill needs them. Runs with the owner's rights.
--
-- dropped: its number, null: none is due. pinned: the number of generations that a position keeps. Locks: the
-- generation's row, SKIP LOCKED, so that a single instance drops it; the exclusive advisory lock on routing, which
-- waits for running batches; the rows of its shards, shared, so that no position moves back meanwhile; the ledger
-- (ACCESS EXCLUSIVE), briefly. Indexes: primary keys of position and of the generation. Reads all of also_seen, before
-- it locks the ledger.
create or replace function inbox.drop_generation(
  p_keep interval, out dropped int, out ids bigint, out pinned int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' set jit = off as $$
declare
  v_began timestamptz := clock_timestamp();
  v_old inbox.ledger_generation;
  v_name text;
  v_forget text := 'delete from inbox.also_seen s '
                   'where s.seen_at >= $1 and exists (select from inbox.%I l where l.event_id = s.event_id)';
begin
  if p_keep is null or p_keep < interval '0' then
    raise exception 'p_keep must be at least 0, not %', p_keep using errcode = 'invalid_parameter_value';
  end if;
  perform inbox.require_read_committed();
  pinned := 0;
  for v_old in
    select g.* from inbox.ledger_generation g where g.frozen_at < clock_timestamp() - p_keep order by g.generation
    for update skip locked
  loop
    continue when to_regclass(format('inbox.ledger_g%s', v_old.generation)) is null;
    if inbox.has_moved_back(v_old.shards, v_old.tops) then
      pinned := pinned + 1;
      continue;
    end if;
    v_name := 'ledger_g' || v_old.generation;
    execute format(v_forget, v_name) using '-infinity'::timestamptz;
    perform pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int);
    perform from inbox.shard s where s.shard_id = any (v_old.shards) order by s.shard_id for share;
    if inbox.has_moved_back(v_old.shards, v_old.tops) then
      raise exception 'the position of a partition moved back while a generation of the ledger was dropped'
        using errcode = 'serialization_failure';
    end if;
    lock table only inbox.ledger in access exclusive mode;
    execute format(v_forget, v_name) using v_began;
    ids := (select c.reltuples from pg_class c where c.oid = format('inbox.%I', v_name)::regclass);
    execute format('drop table inbox.%I', v_name);
    delete from inbox.ledger_generation g where g.generation = v_old.generation;
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
