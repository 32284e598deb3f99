-- Cuts some rows of window w, not grouped yet, by the key of their events: a row for each key, in the old row's place.
-- Events without a key are one group, which purged events join. Returns the number of rows that it cut, at most p_rows;
-- 0: all are grouped. The caller owns the sequence. Locks: the rows. Indexes: delivery_order; event_place in each day.
create or replace function inbox.group_window(w inbox.batch_window, p_rows int) returns int
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off as $$
declare
  v_ids bigint[];
begin
  select coalesce(array_agg(t.delivery_id), '{}') into v_ids from (
    select d.delivery_id from inbox.delivery d
    where d.handler_id = w.handler_id and d.sequence = 0 and d.lane is null and d.group_key is null and d.owner is null
      and coalesce(d.ordinal, d.delivery_id) <= w.last_ordinal and inbox.is_in_window(d, w)
    order by coalesce(d.ordinal, d.delivery_id) limit p_rows for update) t;
  if cardinality(v_ids) = 0 then
    return 0;
  end if;
  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, group_key, pending, events, attempts, claims,
                              due_at, expires_at, received_from, received_to, last_error)
  select d.handler_id, d.shard_id, d.sequence, coalesce(d.ordinal, d.delivery_id), g.group_key, g.pending, g.events,
         d.attempts, d.claims, d.due_at, d.expires_at, d.received_from, d.received_to, d.last_error
  from inbox.delivery d
  cross join lateral (
    select k.group_key, range_agg(int8range(k."offset", k."offset" + 1)) as pending, count(*) as events
    from (
      select o."offset", coalesce(hashtextextended(encode(e.key, 'hex'), 0), 0) as group_key
      from unnest(d.pending) r(range)
      cross join lateral generate_series(lower(r.range), upper(r.range) - 1) o("offset")
      left join inbox.event e
        on e.shard_id = d.shard_id and e."offset" = o."offset" and e.received_at >= d.received_from
           and e.received_at <= d.received_to) k
    group by k.group_key) g
  where d.delivery_id = any (v_ids);
  delete from inbox.delivery d where d.delivery_id = any (v_ids);
  return cardinality(v_ids);
end
$$;
