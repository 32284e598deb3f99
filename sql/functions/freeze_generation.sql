-- Freezes the current generation of the ledger and begins another, if it is due: its index has reached p_ids ids (0: a
-- quarter of shared_buffers), and a 128th of the index of all generations, so that they do not become too many; or it
-- has ids and is older than an eighth of p_keep (null: ids are kept for ever). p_key: a random number, the key of its
-- filter. Returns whether it did. Runs with the owner's rights.
--
-- The version of the routing changes, so that an ingester finds out before it stores the next batch. Locks: the
-- exclusive advisory lock on routing, which waits for running batches; the ledger, for ATTACH, which allows reads and
-- writes.
create or replace function inbox.freeze_generation(p_ids bigint, p_keep interval, p_key bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  v_current inbox.ledger_generation;
  v_table regclass;
  v_index bigint;
  v_limit bigint := case when p_ids > 0 then p_ids * 40 else pg_size_bytes(current_setting('shared_buffers')) / 4 end;
  v_all bigint;
  v_name text;
begin
  if p_ids is null or p_ids < 0 or p_keep < interval '0' or p_key is null then
    raise exception 'p_ids and p_keep must be at least 0, and p_key set, not %, %, %', p_ids, p_keep, p_key
      using errcode = 'invalid_parameter_value';
  end if;
  perform inbox.require_read_committed();
  select * into v_current from inbox.ledger_generation where frozen_at is null;
  v_table := format('inbox.ledger_g%s', v_current.generation)::regclass;
  v_index := pg_indexes_size(v_table);
  select sum(pg_indexes_size(i.inhrelid)) into v_all from pg_inherits i where i.inhparent = 'inbox.ledger'::regclass;
  if v_index < greatest(v_limit, v_all / 128)
     and (p_keep is null or v_current.began_at > clock_timestamp() - p_keep / 8 or pg_relation_size(v_table) = 0)
  then
    return false;
  end if;
  perform pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int);
  update inbox.ledger_generation g
  set frozen_at = clock_timestamp(), filter_key = p_key, shards = n.shards, tops = n.tops
  from (
    select coalesce(array_agg(s.shard_id order by s.shard_id), '{}') as shards,
           coalesce(array_agg(p.top order by s.shard_id), '{}') as tops
    from inbox.shard s
    -- The greatest position ever: while records are read again, the present one is below ids of this generation.
    cross join lateral (
      select max(top) as top
      from (select x.next_offset as top from inbox.position x where x.shard_id = s.shard_id
            union all
            select o.tops[array_position(o.shards, s.shard_id)] from inbox.ledger_generation o
            where o.frozen_at is not null) t) p
    where p.top is not null) n
  where g.generation = v_current.generation and g.frozen_at is null;
  if not found then
    return false;  -- another instance froze it
  end if;
  v_name := 'ledger_g' || v_current.generation + 1;
  execute format('create table inbox.%I (like inbox.ledger, primary key (event_id))', v_name);
  execute format('alter table inbox.ledger attach partition inbox.%I for values in (%s)', v_name,
                 v_current.generation + 1);
  insert into inbox.ledger_generation (generation) values (v_current.generation + 1);
  update inbox.routing
  set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint),
      generation = v_current.generation + 1;
  return true;
end
$$;

-- Not for everybody: roles.sql names the roles that may call it.
revoke all on function inbox.freeze_generation(bigint, interval, bigint) from public;
