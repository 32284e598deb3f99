-- The first messages of lanes that are due to be tried again, up to p_rows and p_bytes, in order within a lane. Lanes
-- p_lanes are in flight. alone: to send in a batch of its own, and no message after it: the first message of a stopped
-- lane (attempts above 0), so that none can overtake it if it is refused again, and messages of a refused batch. Column
-- behind: the message is in a whole topic's lane, but its key has a lane of its own, to which it belongs. A key's lane
-- waits while its topic has a lane. Ends due lanes without messages. Locks: shared, the relay's row; ended lanes, SKIP
-- LOCKED. Indexes: outbox_lane_due, outbox_waiting_lane.
create or replace function inbox.relay_due(
  p_owner uuid, p_fence bigint, p_rows int, p_bytes bigint, p_lanes bigint[])
returns table (outbox_id bigint, message_id uuid, topic text, key bytea, payload bytea, headers bytea,
               published_at timestamptz, behind boolean, lane bigint, alone boolean)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
begin
  if not exists (select from inbox.outbox_lane l where l.due_at <= statement_timestamp()) then
    return;
  end if;
  perform from inbox.relay r where r.owner = p_owner and r.fence = p_fence for share;
  if not found then
    return;
  end if;
  delete from inbox.outbox_lane l
  where l.lane in (
    select e.lane from inbox.outbox_lane e
    where e.lane in (select d.lane from inbox.outbox_lane d where d.due_at <= statement_timestamp()
                     order by d.due_at, d.lane limit p_rows)
      and not exists (select from inbox.outbox_waiting w where w.lane = e.lane)
    for update skip locked);
  return query
  select t.outbox_id, t.message_id, t.topic, t.key, t.payload, t.headers, t.published_at,
         t.whole_topic and exists (
           select from inbox.outbox_lane k
           where k.lane = inbox.outbox_lane_of(t.topic, coalesce(t.key, uuid_send(t.message_id)))),
         t.lane, t.alone
  from (
    select w.outbox_id, w.message_id, w.topic, w.key, w.payload, w.headers, w.published_at, w.lane, l.whole_topic,
           w.alone or l.attempts > 0 as alone,
           row_number() over one as number, coalesce(bool_or(w.alone) over before_it, false) as is_cut,
           sum(coalesce(length(w.key), 0)::bigint + coalesce(length(w.payload), 0) + coalesce(length(w.headers), 0))
             over (order by l.due_at, l.lane, w.outbox_id rows between unbounded preceding and 1 preceding) as before
    from (
      select l.* from inbox.outbox_lane l
      where l.due_at <= statement_timestamp() and l.lane <> all (p_lanes) and (l.whole_topic or not exists (
        select from inbox.outbox_lane t where t.lane = inbox.outbox_lane_of(l.topic, null)))
      order by l.due_at, l.lane limit p_rows) l
    cross join lateral (
      select w.* from inbox.outbox_waiting w where w.lane = l.lane order by w.outbox_id
      limit case when l.attempts = 0 then p_rows else 1 end) w
    window one as (partition by l.lane order by w.outbox_id),
           before_it as (partition by l.lane order by w.outbox_id rows between unbounded preceding and 1 preceding)
    order by l.due_at, l.lane, w.outbox_id limit p_rows) t
  where coalesce(t.before, 0) < p_bytes and not t.is_cut and (t.number = 1 or not t.alone);
end
$$;
