-- Sets failed messages aside, with the error, and those without an error that wait behind them. A failed message stops
-- the lane of its key (without a key: its own), or p_wide, of its whole topic. p_delay: ms until the lane is tried
-- again; null: an operator has to. Failed messages of a lane that was tried again stop it again. Returns false if the
-- relay's lease was lost. Locks: shared, the relay's row, which keeps the owner; its changed rows. Indexes: primary
-- keys.
create or replace function inbox.relay_set_aside(
  p_owner uuid, p_fence bigint, p_id bigint[], p_error text[], p_wide int[], p_delay bigint[])
returns boolean language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  perform from inbox.relay r where r.owner = p_owner and r.fence = p_fence for share;
  if not found then
    return false;
  end if;
  with failed as (
    select f.id, f.error, f.wide, f.delay, w.lane as old_lane,
           case when w.lane is not null and (f.wide or not l.whole_topic) then w.lane
                when f.wide then inbox.outbox_lane_of(m.topic, null)
                else inbox.outbox_lane_of(m.topic, coalesce(m.key, uuid_send(m.message_id))) end as lane,
           m.topic, m.key
    from (select x.id, x.error, x.wide = 1 as wide, x.delay
          from unnest(p_id, p_error, p_wide, p_delay) x(id, error, wide, delay)) f
    left join inbox.outbox_waiting w on w.outbox_id = f.id
    left join inbox.outbox_lane l on l.lane = w.lane
    cross join lateral (
      select w.topic, w.key, w.message_id where w.outbox_id is not null
      union all
      select o.topic, o.key, o.message_id from inbox.outbox o where o.outbox_id = f.id) m
    where f.error is not null),
  stopped as (
    insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, due_at)
    select distinct on (f.lane) f.lane, f.topic, case when not f.wide then f.key end, f.wide, f.error, 1,
           clock_timestamp() + f.delay * interval '1 ms'
    from failed f order by f.lane, f.id
    on conflict (lane) do update set error = excluded.error, due_at = excluded.due_at,
      attempts = outbox_lane.attempts + 1, stopped_at = clock_timestamp()),
  moved as (
    update inbox.outbox_waiting w set lane = f.lane from failed f where w.outbox_id = f.id and w.lane <> f.lane),
  gone as (
    delete from inbox.outbox o where o.outbox_id in (select f.id from failed f where f.old_lane is null)
    returning o.*)
  insert into inbox.outbox_waiting (outbox_id, message_id, topic, key, payload, headers, published_at, lane)
  select g.outbox_id, g.message_id, g.topic, g.key, g.payload, g.headers, g.published_at, f.lane
  from gone g join failed f on f.id = g.outbox_id;

  with behind as (
    select o.outbox_id, coalesce(k.lane, t.lane,
             inbox.outbox_lane_of(o.topic, coalesce(o.key, uuid_send(o.message_id)))) as lane
    from unnest(p_id, p_error) f(id, error)
    cross join lateral (
      select o.outbox_id, o.topic, o.key, o.message_id from inbox.outbox o where o.outbox_id = f.id
      union all
      select w.outbox_id, w.topic, w.key, w.message_id from inbox.outbox_waiting w where w.outbox_id = f.id) o
    left join inbox.outbox_lane k on k.lane = inbox.outbox_lane_of(o.topic, coalesce(o.key, uuid_send(o.message_id)))
    left join inbox.outbox_lane t on t.lane = inbox.outbox_lane_of(o.topic, null)
    where f.error is null),
  moved as (
    update inbox.outbox_waiting w set lane = b.lane from behind b where w.outbox_id = b.outbox_id),
  gone as (
    delete from inbox.outbox o using behind b where o.outbox_id = b.outbox_id returning o.*, b.lane)
  insert into inbox.outbox_waiting (outbox_id, message_id, topic, key, payload, headers, published_at, lane)
  select g.outbox_id, g.message_id, g.topic, g.key, g.payload, g.headers, g.published_at, g.lane from gone g;
  -- The lane of a message that waits has its row in any case: without one it would wait for ever.
  insert into inbox.outbox_lane (lane, topic, whole_topic, error, attempts, due_at)
  select distinct w.lane, w.topic, false, 'its lane has ended', 0, clock_timestamp()
  from inbox.outbox_waiting w
  where w.outbox_id = any (p_id) and not exists (select from inbox.outbox_lane l where l.lane = w.lane)
  on conflict (lane) do nothing;
  return true;
end
$$;
