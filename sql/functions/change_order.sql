-- The pending events of handler p_handler keep their order from now on as p_mode and p_order_scope say: events of a
-- sequence move to another sequence, or to none and are due now. All of a batch handler wait for its next window.
-- p_new_keys: the order key has changed, so lanes end and their events run again in their turn. All leases of the
-- handler end, so no settlement of an earlier configuration is recorded. Called after lock_routing.
--
-- It repeats until no row contradicts the new order: a claim that was open when a statement began may have split a row,
-- and the statement does not see the new row.
--
-- Locks: as inbox.await_settlements; then its window, its dead letters of lanes in order of id, and deliveries. Rows
-- that are not leased are locked by statements that wait for no other delivery. Indexes: delivery_order,
-- delivery_lane, dead_letter_lane.
create or replace function inbox.change_order(p_handler int, p_mode text, p_order_scope text, p_new_keys boolean)
returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_ends_lanes boolean := p_new_keys or p_mode <> 'sequential';
  v_is_first boolean := true;
  v_row inbox.delivery;
  v_from bigint;
  v_changed bigint;
  v_total bigint := 0;
begin
  perform inbox.await_settlements(p_handler, null);
  delete from inbox.sequence s where s.handler_id = p_handler;
  delete from inbox.batch_window w where w.handler_id = p_handler;
  perform from inbox.dead_letter x
  where x.handler_id = p_handler and x.lane is not null order by x.dead_letter_id for update;
  update inbox.dead_letter x
  set sequence = inbox.sequence_of(p_mode, p_order_scope, x.shard_id),
      lane = case when not v_ends_lanes then x.lane end, parks = x.parks and not v_ends_lanes
  where x.handler_id = p_handler and x.lane is not null;
  loop
    update inbox.delivery d
    set sequence = inbox.sequence_of(p_mode, p_order_scope, d.shard_id),
        group_key = null, ordinal = case when p_mode <> 'single' then coalesce(d.ordinal, d.delivery_id) end,
        lane = case when not v_ends_lanes then d.lane end, owner = null, fence = 0,
        due_at = case when p_mode = 'sequential' and (v_ends_lanes or d.lane is null) then 'infinity'
                      when d.owner is null and (d.due_at < 'infinity' or p_mode <> 'single') then d.due_at
                      when p_mode = 'batch' then 'infinity' else clock_timestamp() end
    where d.handler_id = p_handler and (d.sequence is not null or p_mode = 'batch')
      and (v_is_first or d.owner is not null or v_ends_lanes and d.lane is not null
           or d.sequence is distinct from inbox.sequence_of(p_mode, p_order_scope, d.shard_id));
    get diagnostics v_changed = row_count;
    v_total := v_total + v_changed;
    exit when not v_is_first and v_changed = 0;
    v_is_first := false;
  end loop;
  -- A failed event of a batch or of a lane that has ended lies within the row that it came from, and both have the same
  -- place in the order. Rows are read as a whole, so events of a key would run out of order: such rows are cut into
  -- ranges.
  if p_mode = 'sequential' then
    for v_row in
      select d.* from inbox.delivery d
      where d.handler_id = p_handler and d.sequence is not null and d.lane is null
        and exists (
          select from inbox.delivery o
          where o.handler_id = p_handler and o.sequence = d.sequence and o.lane is null
            and coalesce(o.ordinal, o.delivery_id) = coalesce(d.ordinal, d.delivery_id) and o.shard_id = d.shard_id
            and o.delivery_id <> d.delivery_id
            and lower(o.pending) < upper(d.pending) and lower(d.pending) < upper(o.pending))
      order by d.delivery_id
    loop
      for v_from in
        select lower(r) from unnest(v_row.pending) r where lower(r) > lower(v_row.pending) order by lower(r) desc
      loop
        v_row := inbox.cut_delivery(
          v_row, inbox.count_of(v_row.pending * int8multirange(int8range(lower(v_row.pending), v_from))));
      end loop;
    end loop;
  end if;
  -- A lane that was cut by its shards has a first row in each.
  perform inbox.advance_lanes(array_agg(l.handler_id), array_agg(l.sequence), array_agg(l.lane))
  from (select distinct d.handler_id, d.sequence, d.lane from inbox.delivery d
        where d.handler_id = p_handler and d.lane is not null) l;
  return v_total;
end
$$;
