-- The pending events of handler p_handler keep their order from now on as p_mode and p_order_scope say: events of a
-- sequence move to another sequence, or to none and are due now. All of a batch handler wait for its next window.
-- p_new_keys: the order key has changed, so lanes end and their events run again in their turn. All leases of the
-- handler end, so no settlement of an earlier configuration is recorded. Called after lock_routing.
--
-- It repeats until a new snapshot has no row that contradicts the new order: a claim that was open when a statement
-- began may have split a row, and the statement does not see the new row. A statement that has changed nothing proves
-- nothing: it may have waited for a settlement that replaced the row by its retry.
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
    v_is_first := false;
    exit when not exists (
      select from inbox.delivery d
      where d.handler_id = p_handler and (d.sequence is not null or p_mode = 'batch')
        and (d.owner is not null or v_ends_lanes and d.lane is not null
             or d.sequence is distinct from inbox.sequence_of(p_mode, p_order_scope, d.shard_id)));
  end loop;
  -- Failed events of a batch, and those of lanes that have ended, have rows of their own: within the row that they came
  -- from, or at a later place of the order. A row is read as a whole, so events of a key would run out of order. Such
  -- rows are cut where others lie between their offsets; then the places of a shard go to its rows by offset.
  if p_mode = 'sequential' then
    with range_of as (
      select d.delivery_id, d.shard_id, d.pending as before, g as range,
             (lag(d.delivery_id) over w is distinct from d.delivery_id)::int as begins
      from inbox.delivery d cross join unnest(d.pending) g
      where d.handler_id = p_handler and d.sequence is not null and d.lane is null
      window w as (partition by d.shard_id order by lower(g))),
    numbered as (
      select r.*, sum(r.begins) over (partition by r.shard_id order by lower(r.range)) as number from range_of r),
    part as (
      select n.delivery_id, n.before, range_agg(n.range) as pending,
             row_number() over (partition by n.delivery_id order by n.number) as number,
             count(*) over (partition by n.delivery_id) as parts
      from numbered n group by n.delivery_id, n.before, n.number),
    cut as (
      update inbox.delivery d set pending = p.pending, events = inbox.count_of(p.pending)
      from part p
      where p.parts > 1 and p.number = 1 and d.delivery_id = p.delivery_id and d.pending = p.before
      returning d.*)
    insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, pending, events, attempts, claims, due_at,
                                never_expires, postponed, received_from, received_to, last_error)
    select c.handler_id, c.shard_id, c.sequence, c.ordinal, p.pending, inbox.count_of(p.pending), c.attempts, c.claims,
           c.due_at, c.never_expires, c.postponed, c.received_from, c.received_to, c.last_error
    from part p join cut c on c.delivery_id = p.delivery_id
    where p.number > 1;
    with row_of as (
      select d.delivery_id, d.shard_id, coalesce(d.ordinal, d.delivery_id) as place,
             row_number() over (partition by d.shard_id order by lower(d.pending)) as by_offset,
             row_number() over (
               partition by d.shard_id order by coalesce(d.ordinal, d.delivery_id), lower(d.pending)) as by_place
      from inbox.delivery d
      where d.handler_id = p_handler and d.sequence is not null and d.lane is null)
    update inbox.delivery d set ordinal = other.place
    from row_of mine join row_of other on other.shard_id = mine.shard_id and other.by_place = mine.by_offset
    where d.delivery_id = mine.delivery_id and mine.place <> other.place;
  end if;
  -- A lane that was cut by its shards has a first row in each.
  perform inbox.advance_lanes(array_agg(l.handler_id), array_agg(l.sequence), array_agg(l.lane))
  from (select distinct d.handler_id, d.sequence, d.lane from inbox.delivery d
        where d.handler_id = p_handler and d.lane is not null) l;
  return v_total;
end
$$;
