-- Runs a chunk of trimming the ledger: p_blocks blocks, from which ids older than p_keep are deleted, together with
-- their rows of also_seen. An id that comes again is then a new event on each of its topics. Subscriptions of that time
-- are deleted two days after a walk has passed them, unless a backfill needs them. Ids at or above the position of
-- their shard stay: if a position moves back, their records are read again.
--
-- The ledger is walked by block, once a day; any instance takes the next chunk. An instance with a longer p_keep than
-- the present walk leaves that walk alone. A walk that has not moved for a day, because all instances keep ids longer
-- by now, or that was recorded by a wrong clock, starts from the beginning.
--
-- Returns how many ids were deleted, whether the walk has more blocks, and whether a chunk was taken at all. Locks: the
-- row of ledger_trim; the deleted rows, SKIP LOCKED. It locks before it deletes: records of another topic are seen up
-- to the lock, and later records find the id deleted. Index: primary key of position.
create or replace function inbox.trim_ledger(
  p_keep interval, p_blocks bigint, out gone bigint, out has_more boolean, out is_bite boolean)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set timezone = 'UTC' as $$
declare
  v_turn inbox.ledger_trim;
  v_now timestamptz := statement_timestamp();
  v_since date := (v_now - p_keep)::date;
  v_before timestamptz;
  v_next bigint;
  v_rows tid[];
  v_ids uuid[];
begin
  perform inbox.require_read_committed();
  gone := 0; has_more := false; is_bite := false;
  delete from inbox.former_subscription f using inbox.ledger_trim t
  where t.only_row and t.next_block is null
    and to_timestamp(f.until::float8 / 1000000::float8) < (t.day - 2)::timestamptz
    and not exists (select from inbox.backfill b where b.handler_id = f.handler_id);

  select t.* into v_turn from inbox.ledger_trim t
  where t.only_row
    and (t.day > v_now::date + 1
         or case when t.next_block is null then t.day < v_since
                 else t.day <= v_since
                      or t.moved_at not between v_now - interval '1 day' and v_now + interval '1 day' end)
  for update skip locked;
  if not found then
    return;
  end if;
  if v_turn.next_block is null or v_turn.day > v_since then
    v_turn.day := v_since;
    v_turn.next_block := 0;
  end if;
  v_next := v_turn.next_block + p_blocks;
  v_before := v_turn.day::timestamptz;

  with newest as materialized (
    select s.shard_id, p.next_offset
    from inbox.shard s
    cross join lateral (
      select x.next_offset from inbox.position x where x.shard_id = s.shard_id
      order by x.epoch desc, x.first_offset desc limit 1) p)
  select coalesce(array_agg(o.place), '{}'), coalesce(array_agg(o.event_id), '{}') into v_rows, v_ids
  from (
    select l.ctid as place, l.event_id from inbox.ledger l left join newest n using (shard_id)
    where l.ctid >= format('(%s,0)', v_turn.next_block)::tid and l.ctid < format('(%s,0)', v_next)::tid
      and l.received_at < v_before and (n.next_offset is null or l."offset" < n.next_offset)
    for update of l skip locked) o;
  delete from inbox.also_seen s where s.event_id = any (v_ids);
  delete from inbox.ledger l where l.ctid = any (v_rows);
  get diagnostics gone = row_count;

  has_more := v_next < pg_relation_size('inbox.ledger') / current_setting('block_size')::int;
  is_bite := true;
  update inbox.ledger_trim t
  set day = v_turn.day, next_block = case when has_more then v_next end, moved_at = clock_timestamp()
  where t.only_row;
end
$$;
