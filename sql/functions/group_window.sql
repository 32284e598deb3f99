-- Cuts the next rows of window w by the key of their events: a row for each key, in the old row's place. Events without
-- a key form a group, which purged events join. Takes about p_events events, at least one row. False: all are cut. The
-- caller owns the sequence. Locks: the window's row; the rows. Indexes: delivery_order; event_place in each day.
create or replace function inbox.group_window(w inbox.batch_window, p_events int) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  d inbox.delivery;
  v_ids bigint[] := '{}';
  v_left bigint := p_events;
  v_ordinal bigint;
begin
  for d in
    select x.* from inbox.delivery x
    where x.handler_id = w.handler_id and x.sequence = 0 and x.lane is null
      and coalesce(x.ordinal, x.delivery_id) >= w.grouped_to and coalesce(x.ordinal, x.delivery_id) <= w.last_ordinal
      and x.group_key is null and x.owner is null and inbox.is_in_window(x, w)
    order by coalesce(x.ordinal, x.delivery_id)
  loop
    v_ids := v_ids || d.delivery_id;
    v_ordinal := coalesce(d.ordinal, d.delivery_id);
    v_left := v_left - d.events;
    exit when v_left <= 0;
  end loop;
  if cardinality(v_ids) = 0 then
    return false;
  end if;
  update inbox.batch_window x set grouped_to = v_ordinal where x.handler_id = w.handler_id;
  perform from inbox.delivery x where x.delivery_id = any (v_ids) order by x.delivery_id for update;
  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, group_key, pending, events, attempts, claims,
                              due_at, never_expires, received_from, received_to, last_error)
  select x.handler_id, x.shard_id, x.sequence, coalesce(x.ordinal, x.delivery_id), g.group_key, g.pending, g.events,
         x.attempts, x.claims, x.due_at, x.never_expires, x.received_from, x.received_to, x.last_error
  from inbox.delivery x
  cross join lateral (
    select k.group_key, range_agg(int8range(k."offset", k."offset" + 1)) as pending, count(*) as events
    from (
      select o."offset", coalesce(hashtextextended(encode(e.key, 'hex'), 0), 0) as group_key
      from unnest(x.pending) r(range)
      cross join lateral generate_series(lower(r.range), upper(r.range) - 1) o("offset")
      left join inbox.event e
        on e.shard_id = x.shard_id and e."offset" = o."offset" and e.received_at >= x.received_from
           and e.received_at <= x.received_to) k
    group by k.group_key) g
  where x.delivery_id = any (v_ids);
  delete from inbox.delivery x where x.delivery_id = any (v_ids);
  return true;
end
$$;
