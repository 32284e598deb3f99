-- The first row of each of these lanes is due, if it was waiting. Called with their sequences locked. In PL/pgSQL,
-- which keeps the plan: SQL would plan the statement at each call. Locks: these rows. Index: delivery_lane.
create or replace function inbox.advance_lanes(p_handler int[], p_sequence int[], p_lane bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  update inbox.delivery d set due_at = clock_timestamp()
  from (select distinct x.handler, x.sequence, x.lane
        from unnest(p_handler, p_sequence, p_lane) x(handler, sequence, lane)) t
  cross join lateral (
    select f.delivery_id from inbox.delivery f
    where f.handler_id = t.handler and f.sequence = t.sequence and f.lane = t.lane
    order by coalesce(f.ordinal, f.delivery_id), inbox.stored_at(f), f.shard_id, lower(f.pending) limit 1) first
  where d.delivery_id = first.delivery_id and d.owner is null and d.due_at = 'infinity';
end
$$;
