-- Records outcomes of all kinds, guarded by id, fence, owner and pending @> settled: a delivery whose lease was lost
-- does not change. Returns the subscripts of the deliveries that were settled; the other leases were lost.
-- * d_ deliveries: all offsets that leave them now, and of those the done ones. A delivery may occur under several
--   fences, but only once under each, because an update applies one of two joined rows.
-- * g_ offsets that failed alike and are retried together, after g_delay ms. f_ one row for each failed attempt;
--   duration in ms. x_ dead offsets. Each names its delivery by a subscript of d_ (of).
--
-- Locks: the deliveries, in order of id. Indexes: primary key of delivery; for dead letters as inbox.dead_letter. `=
-- any (ids)` beside a join on the same id, and no sequential scans: a plan made while the table is small is kept.
create or replace function inbox.settle(
  p_owner uuid, d_id bigint[], d_fence bigint[], d_settled text[], d_done text[],
  g_of int[], g_offsets text[], g_delay bigint[], g_error text[],
  f_of int[], f_event uuid[], f_attempt int[], f_class text[], f_message text[], f_duration bigint[],
  x_of int[], x_offset bigint[], x_event uuid[])
returns int[]
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_of int[];
  v_ids bigint[];
begin
  if (select count(*) from (select distinct id, fence from unnest(d_id, d_fence) s(id, fence)) t) <> cardinality(d_id)
  then
    raise exception 'd_id and d_fence name a delivery twice' using errcode = 'invalid_parameter_value';
  end if;
  select coalesce(array_agg(t.i), '{}'), coalesce(array_agg(t.delivery_id), '{}') into v_of, v_ids from (
    select s.i, d.delivery_id
    from unnest(d_id, d_fence, d_settled) with ordinality s(id, fence, settled, i)
    join inbox.delivery d on d.delivery_id = s.id
    where d.delivery_id = any (d_id) and d.fence = s.fence and d.owner = p_owner
      and d.pending @> s.settled::int8multirange
    order by d.delivery_id for update of d) t;

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, s.done::int8multirange, 'done', d.attempts + 1, p_owner
  from unnest(d_id, d_fence, d_done) s(id, fence, done)
  join inbox.delivery d on d.delivery_id = s.id and d.fence = s.fence
  where d.delivery_id = any (v_ids) and s.done <> '{}';

  insert into inbox.delivery (handler_id, shard_id, pending, events, lane, attempts, due_at, expires_at, received_from,
                              received_to, last_error)
  select d.handler_id, d.shard_id, g.offsets::int8multirange, inbox.count_of(g.offsets::int8multirange), d.lane,
         d.attempts + 1, clock_timestamp() + g.delay::float8 * interval '1 ms', d.expires_at, d.received_from,
         d.received_to, g.error
  from unnest(g_of, g_offsets, g_delay, g_error) g(i, offsets, delay, error)
  join inbox.delivery d on d.delivery_id = d_id[g.i] and d.fence = d_fence[g.i]
  where d.delivery_id = any (v_ids);

  insert into inbox.failure (event_id, handler_id, attempt, error_class, message, duration)
  select f.event, d.handler_id, f.attempt, f.class, f.message, f.duration::float8 * interval '1 ms'
  from unnest(f_of, f_event, f_attempt, f_class, f_message, f_duration) f(i, event, attempt, class, message, duration)
  join inbox.delivery d on d.delivery_id = d_id[f.i] and d.fence = d_fence[f.i]
  where d.delivery_id = any (v_ids);

  if cardinality(x_of) > 0 then
    perform inbox.dead_letter(v_ids, array_agg(d.delivery_id), array_agg(x."offset"), array_agg(x.event))
    from unnest(x_of, x_offset, x_event) x(i, "offset", event)
    join inbox.delivery d on d.delivery_id = d_id[x.i] and d.fence = d_fence[x.i]
    where d.delivery_id = any (v_ids);
  end if;

  delete from inbox.delivery d using unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids)
    and isempty(d.pending - s.settled::int8multirange);
  update inbox.delivery d
  set pending = d.pending - s.settled::int8multirange, events = inbox.count_of(d.pending - s.settled::int8multirange)
  from unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids);
  return v_of;
end
$$;
