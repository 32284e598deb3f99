-- Sets messages aside. p_kind: 0 it waits for an earlier message; 1 it was refused, and stops the lane of its key
-- (without a key: its own); 2 it was refused, and stops its whole topic; 3 it was in a refused batch, and is tried
-- alone. p_delay: ms until a stopped lane is tried again; null: an operator has to. Returns false if the relay's lease
-- was lost. Locks: shared, the relay's row, which keeps the owner; the waiting messages in order of id, then the lanes
-- in order, as op_outbox_skip. Indexes: primary keys, outbox_waiting_lane.
create or replace function inbox.relay_set_aside(
  p_owner uuid, p_fence bigint, p_id bigint[], p_error text[], p_kind int[], p_delay bigint[])
returns boolean language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  perform from inbox.relay r where r.owner = p_owner and r.fence = p_fence for share;
  if not found then
    return false;
  end if;
  perform from inbox.outbox_waiting w where w.outbox_id = any (p_id) order by w.outbox_id for update;
  perform from inbox.outbox_lane l
  where l.lane in (
    select unnest(array[m.lane, inbox.outbox_lane_of(m.topic, null),
                        inbox.outbox_lane_of(m.topic, coalesce(m.key, uuid_send(m.message_id)))])
    from (select w.lane, w.topic, w.key, w.message_id from inbox.outbox_waiting w where w.outbox_id = any (p_id)
          union all
          select null, o.topic, o.key, o.message_id from inbox.outbox o where o.outbox_id = any (p_id)) m)
  order by l.lane for update;
  with failed as (
    select f.id, f.error, f.wide, f.delay, w.lane as old_lane,
           case when w.lane is not null and (f.wide or not l.whole_topic) then w.lane
                when f.wide then inbox.outbox_lane_of(m.topic, null)
                else inbox.outbox_lane_of(m.topic, coalesce(m.key, uuid_send(m.message_id))) end as lane,
           m.topic, m.key
    from (select x.id, x.error, x.kind = 2 as wide, x.delay
          from unnest(p_id, p_error, p_kind, p_delay) x(id, error, kind, delay) where x.kind in (1, 2)) f
    left join inbox.outbox_waiting w on w.outbox_id = f.id
    left join inbox.outbox_lane l on l.lane = w.lane
    cross join lateral (
      select w.topic, w.key, w.message_id where w.outbox_id is not null
      union all
      select o.topic, o.key, o.message_id from inbox.outbox o where o.outbox_id = f.id) m),
  stopped as (
    insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, failed_id, due_at)
    select distinct on (f.lane) f.lane, f.topic, case when not f.wide then f.key end, f.wide, f.error, 1, f.id,
           clock_timestamp() + f.delay * interval '1 ms'
    from failed f order by f.lane, f.id
    on conflict (lane) do update set error = excluded.error, due_at = excluded.due_at, failed_id = excluded.failed_id,
      attempts = outbox_lane.attempts + 1, stopped_at = clock_timestamp()),
  moved as (
    update inbox.outbox_waiting w set lane = f.lane, alone = true from failed f where w.outbox_id = f.id),
  gone as (
    delete from inbox.outbox o where o.outbox_id in (select f.id from failed f where f.old_lane is null)
    returning o.*)
  insert into inbox.outbox_waiting (outbox_id, message_id, topic, key, payload, headers, published_at, lane, alone)
  select g.outbox_id, g.message_id, g.topic, g.key, g.payload, g.headers, g.published_at, f.lane, true
  from gone g join failed f on f.id = g.outbox_id;

  with behind as (
    select o.outbox_id, f.alone, coalesce(k.lane, t.lane,
             inbox.outbox_lane_of(o.topic, coalesce(o.key, uuid_send(o.message_id)))) as lane
    from (select x.id, x.kind = 3 as alone from unnest(p_id, p_kind) x(id, kind) where x.kind in (0, 3)) f
    cross join lateral (
      select o.outbox_id, o.topic, o.key, o.message_id from inbox.outbox o where o.outbox_id = f.id
      union all
      select w.outbox_id, w.topic, w.key, w.message_id from inbox.outbox_waiting w where w.outbox_id = f.id) o
    left join inbox.outbox_lane k on k.lane = inbox.outbox_lane_of(o.topic, coalesce(o.key, uuid_send(o.message_id)))
    left join inbox.outbox_lane t on t.lane = inbox.outbox_lane_of(o.topic, null)),
  moved as (
    update inbox.outbox_waiting w set lane = b.lane, alone = w.alone or b.alone
    from behind b where w.outbox_id = b.outbox_id),
  gone as (
    delete from inbox.outbox o using behind b where o.outbox_id = b.outbox_id returning o.*, b.lane, b.alone)
  insert into inbox.outbox_waiting (outbox_id, message_id, topic, key, payload, headers, published_at, lane, alone)
  select g.outbox_id, g.message_id, g.topic, g.key, g.payload, g.headers, g.published_at, g.lane, g.alone from gone g;
  -- The lane of a message that waits has its row in any case: without that row it would wait for ever.
  insert into inbox.outbox_lane (lane, topic, whole_topic, error, attempts, due_at)
  select distinct w.lane, w.topic, false, 'no message of it was refused', 0, clock_timestamp()
  from inbox.outbox_waiting w
  where w.outbox_id = any (p_id) and not exists (select from inbox.outbox_lane l where l.lane = w.lane)
  on conflict (lane) do nothing;
  -- Messages before the refused message were never refused: a transaction that committed late. Or it was skipped
  -- meanwhile.
  update inbox.outbox_lane l set due_at = clock_timestamp()
  where l.due_at is null and l.lane in (select w.lane from inbox.outbox_waiting w where w.outbox_id = any (p_id))
    and (exists (select from inbox.outbox_waiting w where w.lane = l.lane and w.outbox_id < l.failed_id)
         or not exists (select from inbox.outbox_waiting w where w.lane = l.lane and w.outbox_id = l.failed_id));
  return true;
end
$$;
