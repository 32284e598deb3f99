-- Inserts event ids (sorted) into the ledger's current generation, p_generation, unless a frozen one has them. stored:
-- how many are new. lost_shard, lost_offset: the places in this batch of the duplicates. odd: a duplicate has another
-- digest or another shard than the stored id. resends: for each duplicate from another place of its topic, how many
-- seconds after the first. p_repeats: an id occurs twice in this batch. f_generation, f_id: the ids that a frozen
-- generation may have, by their filters; null: not known, so that all generations are read.
--
-- Locks: its new rows; waits for another session that inserts the same id, in order of id. Indexes: primary keys of the
-- generations. Settings: a plan made while the tables are small is kept, so it must not scan them.
create or replace function inbox.record_ids(
  p_now timestamptz, p_generation int, p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[],
  l_digest bigint[], f_generation int[], f_id uuid[],
  out stored int, out lost_shard int[], out lost_offset bigint[], out odd boolean, out resends int[])
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_id uuid[];
  v_shard int[];
  v_offset bigint[];
  v_digest bigint[];
  v_at timestamptz[];
  v_own boolean[];  -- whether this transaction inserted it: only where an id may occur twice
begin
  if f_id is null then
    select array_agg(g.event_id order by g.event_id), array_agg(g.shard_id order by g.event_id),
           array_agg(g."offset" order by g.event_id), array_agg(g.digest order by g.event_id),
           array_agg(g.received_at order by g.event_id) into v_id, v_shard, v_offset, v_digest, v_at
    from inbox.ledger g where g.event_id = any (l_id);
  else
    select array_agg(g.event_id order by g.event_id), array_agg(g.shard_id order by g.event_id),
           array_agg(g."offset" order by g.event_id), array_agg(g.digest order by g.event_id),
           array_agg(g.received_at order by g.event_id) into v_id, v_shard, v_offset, v_digest, v_at
    from (
      select c.event_id, c.shard_id, c."offset", c.digest, c.received_at
      from inbox.ledger c where c.generation = p_generation and c.event_id = any (l_id)
      union all
      select k.event_id, k.shard_id, k."offset", k.digest, k.received_at
      from (select distinct u.generation, u.id from unnest(f_generation, f_id) u(generation, id)) f
      cross join lateral (
        select z.* from inbox.ledger z where z.generation = f.generation and z.event_id = f.id offset 0) k
      where f.id = any (l_id)) g;
  end if;
  stored := 0;
  if not p_repeats and v_id = l_id and v_shard = l_shard and v_offset = l_offset and v_digest = l_digest then
    lost_shard := l_shard; lost_offset := l_offset; odd := false;  -- read again from their own places
    return;
  end if;
  if p_repeats or v_id is distinct from l_id then
    begin
      insert into inbox.ledger (event_id, shard_id, generation, "offset", digest, received_at)
      select l_id[i], l_shard[i], p_generation, l_offset[i], l_digest[i], p_now
      from generate_series(1, cardinality(l_id)) i left join unnest(v_id) k(id) on k.id = l_id[i]
      where k.id is null and not p_repeats;
      get diagnostics stored = row_count;
    exception when unique_violation then
      p_repeats := true;  -- another session inserted one of them meanwhile
    end;
  end if;
  if p_repeats then
    insert into inbox.ledger (event_id, shard_id, generation, "offset", digest, received_at)
    select l.id, l.shard, p_generation, l."offset", l.digest, p_now
    from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
    left join unnest(v_id) k(id) on k.id = l.id
    where k.id is null
    on conflict do nothing;
    get diagnostics stored = row_count;
    v_own := array_fill(false, array[coalesce(cardinality(v_id), 0)]);
    select v_id || coalesce(array_agg(g.event_id), '{}'), v_shard || coalesce(array_agg(g.shard_id), '{}'),
           v_offset || coalesce(array_agg(g."offset"), '{}'), v_digest || coalesce(array_agg(g.digest), '{}'),
           v_at || coalesce(array_agg(g.received_at), '{}'),
           v_own || coalesce(array_agg(g.xmin = pg_current_xact_id()::xid), '{}')
    into v_id, v_shard, v_offset, v_digest, v_at, v_own
    from inbox.ledger g
    where g.generation = p_generation and g.event_id = any (l_id) and g.event_id <> all (coalesce(v_id, '{}'));
  end if;
  -- Rows of this transaction at the record's own place are new. The others existed before.
  select coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(l."offset"), '{}'),
         coalesce(bool_or(k.digest <> l.digest or k.shard <> l.shard), false),
         array_agg(extract(epoch from greatest(p_now - k.at, interval '0'))::int)
           filter (where k.digest = l.digest and case when k.shard = l.shard then k."offset" <> l."offset" else exists (
             select from inbox.shard a join inbox.shard b on b.source = a.source and b.topic = a.topic
             where a.shard_id = k.shard and b.shard_id = l.shard) end)
  into lost_shard, lost_offset, odd, resends
  from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
  join unnest(v_id, v_shard, v_offset, v_digest, v_at, v_own) k(id, shard, "offset", digest, at, is_own) on k.id = l.id
  where not (k.is_own is true and k.shard = l.shard and k."offset" = l."offset");
end
$$;
