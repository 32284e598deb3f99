-- Runs a bite of deleting old events: of a shard's next p_most events from offset p_first on, received before
-- p_before, it deletes the events that no delivery and no backfill needs. Returns how many, and the offset to continue
-- at; null: the walk is over. Dead letters, including parked events, and quarantined records have copies of their own.
-- The shard's trimmed_before tells `inboxd verify` that events received before it may be gone.
--
-- Locks: shared advisory lock on routing, so that no backfill begins; the lock of op_dead_lock, so that no replay and
-- no record with an id of another topic makes a delivery of a stored event meanwhile; the shard's row. Index:
-- event_place of the days before p_before. Reads all of delivery, if there is an old event.
create or replace function inbox.trim_events(
  p_shard int, p_before timestamptz, p_first bigint, p_most int, out gone bigint, out next_offset bigint)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' set jit = off
set plan_cache_mode = force_custom_plan as $$
declare
  v_first bigint;
  v_last bigint;
  v_events bigint;
  v_needed int8multirange;
begin
  perform inbox.require_read_committed();
  gone := 0;
  select min(b."offset"), max(b."offset"), count(*) into v_first, v_last, v_events
  from (
    select e."offset" from inbox.event e
    where e.shard_id = p_shard and e."offset" >= p_first and e.received_at < p_before
    order by e."offset" limit p_most) b;
  if v_events = 0 then
    return;
  end if;
  next_offset := case when v_events = p_most then v_last + 1 end;
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  perform pg_advisory_xact_lock(1768841850, 'inbox.dead_letter'::regclass::oid::int);

  select coalesce(range_agg(n.range), '{}') into v_needed
  from (
    select unnest(d.pending) as range from inbox.delivery d
    where d.shard_id = p_shard and d.received_from < p_before and d.pending && int8range(v_first, v_last + 1)
    union all
    select int8range(b.next_offset, b.end_offset) from inbox.backfill b where b.shard_id = p_shard) n;
  delete from inbox.event e
  where e.shard_id = p_shard and e."offset" between v_first and v_last and e.received_at < p_before
    and not v_needed @> e."offset";
  get diagnostics gone = row_count;
  update inbox.shard s set trimmed_before = p_before
  where gone > 0 and s.shard_id = p_shard and (s.trimmed_before is null or s.trimmed_before < p_before);
end
$$;
