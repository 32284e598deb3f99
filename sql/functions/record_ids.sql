-- Inserts event ids (sorted) into the ledger. stored: how many are new. lost_shard, lost_offset: the places in this
-- batch of the duplicates. odd: a duplicate has another digest or another shard than the stored id. p_repeats: an id
-- occurs twice in this batch.
--
-- Locks: its new rows; waits for another session that inserts the same id, in order of id. Index: primary key of
-- ledger. Settings: a plan made while the tables are small is kept, so it must not scan them.
create or replace function inbox.record_ids(
  p_now timestamptz, p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  out stored int, out lost_shard int[], out lost_offset bigint[], out odd boolean)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_id uuid[];
  v_shard int[];
  v_digest bigint[];
begin
  stored := 0; lost_shard := '{}'; lost_offset := '{}'; odd := false;
  if not p_repeats then
    select array_agg(g.event_id order by g.event_id), array_agg(g.shard_id order by g.event_id),
           array_agg(g.digest order by g.event_id) into v_id, v_shard, v_digest
    from inbox.ledger g where g.event_id = any (l_id);
    if v_id = l_id and v_shard = l_shard and v_digest = l_digest then
      lost_shard := l_shard; lost_offset := l_offset;
      return;
    end if;
    begin
      insert into inbox.ledger (event_id, shard_id, "offset", digest, received_at)
      select l_id[i], l_shard[i], l_offset[i], l_digest[i], p_now
      from generate_series(1, cardinality(l_id)) i left join unnest(v_id) k(id) on k.id = l_id[i]
      where k.id is null;
      get diagnostics stored = row_count;
      select coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(l."offset"), '{}'),
             coalesce(bool_or(l.digest <> k.digest or l.shard <> k.shard), false)
      into lost_shard, lost_offset, odd
      from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
      join unnest(v_id, v_shard, v_digest) k(id, shard, digest) on k.id = l.id;
      return;
    exception when unique_violation then
      stored := 0;  -- another session inserted one of them meanwhile
    end;
  end if;
  insert into inbox.ledger (event_id, shard_id, "offset", digest, received_at)
  select l.*, p_now from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
  on conflict do nothing;
  get diagnostics stored = row_count;
  -- Rows of this transaction (xmin) at the record's own place are new. The others existed before.
  select coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(l."offset"), '{}'),
         coalesce(bool_or(g.digest <> l.digest or g.shard_id <> l.shard), false)
  into lost_shard, lost_offset, odd
  from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
  join inbox.ledger g on g.event_id = l.id
  where not (g.xmin = pg_current_xact_id()::xid and g.shard_id = l.shard and g."offset" = l."offset");
  perform inbox.require_known_ids(stored + cardinality(lost_shard), cardinality(l_id));
end
$$;
