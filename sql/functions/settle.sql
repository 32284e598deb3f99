-- Records outcomes of all kinds, guarded by id, fence, owner, pending @> settled and, in a sequence, its owner: a
-- delivery whose lease was lost does not change. Returns the subscripts of the deliveries that were settled; the other
-- leases were lost.
-- * d_ deliveries: all offsets that leave them now, and which of these are done. A delivery may occur under several
--   fences, but only once under each, because an update applies only one of two joined rows. d_skipped: the offsets
--   that the handler has skipped.
-- * g_ offsets that failed alike and are retried together, after g_delay ms; offsets of a batch handler in a window
--   that closes after that. A negative g_delay defers them by its amount: no attempt is counted. f_ a row for each
--   failed attempt; duration in ms. x_ dead offsets. Each names its delivery by a subscript of d_ (of).
-- * For sequences: g_lane, the lane that a failed event begins or continues, with its order key. w_ offsets that wait
--   for the first row of their lane, with their order key: that row may have ended. x_state: dead, parks (later events
--   of its key are parked), parked, expired (before a call) or expires (it failed, and a retry would be too late).
--   Without a dead letter that parks its key, a parked event waits in its lane instead: an operator has released it.
--
-- Locks: the sequences, shared, or as inbox.lock_lanes if lanes change, alone if rows are added to them; the
-- deliveries, in order of id. Indexes: primary key of delivery; for dead letters as inbox.dead_letter;
-- dead_letter_parks, delivery_lane. `= any (ids)` as well as a join on the same id, and no sequential scans: a plan
-- made while the table is small is kept.
create or replace function inbox.settle(
  p_owner uuid, d_id bigint[], d_fence bigint[], d_settled text[], d_done text[], d_skipped text[],
  g_of int[], g_offsets text[], g_delay bigint[], g_error text[], g_lane bigint[], g_key bytea[],
  f_of int[], f_event uuid[], f_attempt int[], f_class text[], f_message text[], f_duration bigint[],
  x_of int[], x_offset bigint[], x_event uuid[], x_state text[], x_lane bigint[], x_key bytea[],
  w_of int[], w_offsets text[], w_lane bigint[], w_key bytea[])
returns int[]
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_of int[];
  v_ids bigint[];
  v_keeps_lanes boolean;
  v_adds_to_lanes boolean;
  v_has_sequences boolean;
  v_lost bigint[] := '{}';  -- deliveries of sequences with another owner, or none
  v_lane_handler int[] := '{}';
  v_lane_sequence int[] := '{}';
  v_lanes bigint[] := '{}';
begin
  if (select count(*) from (select distinct id, fence from unnest(d_id, d_fence) s(id, fence)) t) <> cardinality(d_id)
  then
    raise exception 'd_id and d_fence name a delivery twice' using errcode = 'invalid_parameter_value';
  end if;
  -- `offset 0`: only by the primary key. With the conditions inside, a plan made while the table is small may use a
  -- partial index, and read all of it.
  select coalesce(bool_or(t.lane is not null), false), coalesce(bool_or(t.sequence is not null), false)
  into v_keeps_lanes, v_has_sequences
  from (select d.lane, d.sequence from inbox.delivery d where d.delivery_id = any (d_id) offset 0) t;
  -- A first row that fails again takes its own place.
  v_adds_to_lanes := cardinality(w_of) > 0 or exists (select from unnest(x_state) x where x in ('parks', 'parked'))
    or exists (
      select from unnest(g_of, g_lane) g(i, lane)
      where g.lane is not null and not exists (
        select from inbox.delivery d where d.delivery_id = d_id[g.i] and d.lane is not null));
  v_keeps_lanes := v_keeps_lanes or v_adds_to_lanes;
  -- Before the deliveries. A shared lock keeps a sequence from being deleted: no row is added to one that has gone.
  if v_keeps_lanes then
    perform inbox.lock_lanes(array_agg(t.handler_id), array_agg(t.sequence), v_adds_to_lanes)
    from (select d.handler_id, d.sequence from inbox.delivery d where d.delivery_id = any (d_id) offset 0) t;
  elsif v_has_sequences then
    perform from inbox.sequence s
    where (s.handler_id, s.sequence) in (
      select d.handler_id, d.sequence from inbox.delivery d where d.delivery_id = any (d_id) offset 0)
    order by s.handler_id, s.sequence for key share;
  end if;
  if v_has_sequences then
    v_lost := array(
      select t.delivery_id
      from (select d.delivery_id, d.handler_id, d.sequence from inbox.delivery d
            where d.delivery_id = any (d_id) offset 0) t
      where t.sequence is not null and not exists (
        select from inbox.sequence q
        where q.handler_id = t.handler_id and q.sequence = t.sequence and q.owner = p_owner));
  end if;

  select coalesce(array_agg(t.i), '{}'), coalesce(array_agg(t.delivery_id), '{}') into v_of, v_ids from (
    select s.i, d.delivery_id
    from unnest(d_id, d_fence, d_settled) with ordinality s(id, fence, settled, i)
    join inbox.delivery d on d.delivery_id = s.id
    where d.delivery_id = any (d_id) and d.fence = s.fence and d.owner = p_owner
      and d.pending @> s.settled::int8multirange
      and d.delivery_id <> all (v_lost)
    order by d.delivery_id for update of d) t;

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, s.offsets::int8multirange, s.outcome, d.attempts + 1, p_owner
  from (select 'done', * from unnest(d_id, d_fence, d_done)
        union all
        select 'skipped', * from unnest(d_id, d_fence, d_skipped)) s(outcome, id, fence, offsets)
  join inbox.delivery d on d.delivery_id = s.id and d.fence = s.fence
  where d.delivery_id = any (v_ids) and s.offsets <> '{}';

  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, pending, events, attempts,
                              due_at, never_expires, postponed, received_from, received_to, last_error)
  select d.handler_id, d.shard_id, case when g.lane is not null
                    or (select h.mode from inbox.handler h where h.handler_id = d.handler_id) = 'batch'
              then d.sequence end,
         case when g.lane is not null then coalesce(d.ordinal, d.delivery_id) end, g.lane, g.key,
         g.offsets::int8multirange, inbox.count_of(g.offsets::int8multirange), d.attempts + (g.delay >= 0)::int,
         clock_timestamp() + abs(g.delay)::float8 * interval '1 ms', d.never_expires,
         g.delay < 0 and g.error is null, d.received_from, d.received_to, g.error
  from unnest(g_of, g_offsets, g_delay, g_error, g_lane, g_key) g(i, offsets, delay, error, lane, key)
  join inbox.delivery d on d.delivery_id = d_id[g.i] and d.fence = d_fence[g.i]
  where d.delivery_id = any (v_ids);

  insert into inbox.failure (event_id, handler_id, attempt, error_class, message, duration)
  select f.event, d.handler_id, f.attempt, f.class, f.message, f.duration::float8 * interval '1 ms'
  from unnest(f_of, f_event, f_attempt, f_class, f_message, f_duration) f(i, event, attempt, class, message, duration)
  join inbox.delivery d on d.delivery_id = d_id[f.i] and d.fence = d_fence[f.i]
  where d.delivery_id = any (v_ids);

  -- First the dead events, which may park their key, then the events that they park.
  if cardinality(x_of) > 0 then
    perform inbox.dead_letter(v_ids, array_agg(d.delivery_id), array_agg(x."offset"), array_agg(x.event),
                              array_agg(x.state), array_agg(x.lane), array_agg(x.key))
    from unnest(x_of, x_offset, x_event, x_state, x_lane, x_key) x(i, "offset", event, state, lane, key)
    join inbox.delivery d on d.delivery_id = d_id[x.i] and d.fence = d_fence[x.i]
    where d.delivery_id = any (v_ids) and x.state <> 'parked';
    if 'parked' = any (x_state) then
      perform inbox.dead_letter(v_ids, array_agg(d.delivery_id), array_agg(x."offset"), array_agg(x.event),
                                array_agg(x.state), array_agg(x.lane), array_agg(x.key))
      from unnest(x_of, x_offset, x_event, x_state, x_lane, x_key) x(i, "offset", event, state, lane, key)
      join inbox.delivery d on d.delivery_id = d_id[x.i] and d.fence = d_fence[x.i]
      where d.delivery_id = any (v_ids) and x.state = 'parked' and inbox.is_parked(d.handler_id, d.sequence, x.lane);
    end if;
  end if;

  if v_keeps_lanes then
    with waiting as (
      select w.i, w.offsets::int8multirange as offsets, w.lane, w.key
      from unnest(w_of, w_offsets, w_lane, w_key) w(i, offsets, lane, key)
      union all
      select x.i, int8multirange(int8range(x."offset", x."offset" + 1)), x.lane, x.key
      from unnest(x_of, x_offset, x_state, x_lane, x_key) x(i, "offset", state, lane, key)
      join inbox.delivery d on d.delivery_id = d_id[x.i] and d.fence = d_fence[x.i]
      where x.state = 'parked' and not inbox.is_parked(d.handler_id, d.sequence, x.lane)),
    added as (
      insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, pending, events, due_at,
                                  never_expires, received_from, received_to)
      select d.handler_id, d.shard_id, d.sequence, coalesce(d.ordinal, d.delivery_id), w.lane, w.key, w.offsets,
             inbox.count_of(w.offsets), 'infinity', d.never_expires, d.received_from, d.received_to
      from waiting w join inbox.delivery d on d.delivery_id = d_id[w.i] and d.fence = d_fence[w.i]
      where d.delivery_id = any (v_ids)
      returning handler_id, sequence, lane),
    touched as (
      select handler_id, sequence, lane from added
      union select d.handler_id, d.sequence, d.lane from inbox.delivery d
      where d.delivery_id = any (v_ids) and d.lane is not null)
    select coalesce(array_agg(handler_id), '{}'), coalesce(array_agg(sequence), '{}'), coalesce(array_agg(lane), '{}')
    into v_lane_handler, v_lane_sequence, v_lanes from touched;
  end if;

  delete from inbox.delivery d using unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids)
    and isempty(d.pending - s.settled::int8multirange);
  update inbox.delivery d
  set pending = d.pending - s.settled::int8multirange, events = inbox.count_of(d.pending - s.settled::int8multirange)
  from unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids);
  if cardinality(v_lanes) > 0 then
    perform inbox.advance_lanes(v_lane_handler, v_lane_sequence, v_lanes);
  end if;
  return v_of;
end
$$;
