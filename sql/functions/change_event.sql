-- `events retry` and, with a reason, `events skip`: the event p_event at p_offset of delivery p_delivery is due now, or
-- is a dead letter of class operator.skipped with p_reason as its message. In a lane the dead letter keeps its place,
-- and the next event is due. status: done; gone, if the event has left the delivery since the caller read it; leased;
-- otherwise (retry only), if it does not wait for a retry, or for its deliver_at; purged (skip only).
--
-- A claim of a sequence reads its rows in order and would pass over new rows, so a change there keeps claims out.
--
-- Locks: exclusive advisory lock on routing, if the event is in a sequence and in no lane; the sequence; the delivery.
-- Indexes: primary keys of delivery and sequence; event_place; as inbox.dead_letter and inbox.advance_lanes.
create or replace function inbox.change_event(
  p_actor text, p_asked text, p_delivery bigint, p_offset bigint, p_event uuid, p_reason text, out status text)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  d inbox.delivery;
begin
  select * into d from inbox.delivery x where x.delivery_id = p_delivery;
  if d.sequence is not null and d.lane is null then
    perform pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int);
  end if;
  perform inbox.lock_lanes(array[d.handler_id], array[d.sequence], true);
  select * into d from inbox.delivery x where x.delivery_id = p_delivery and x.pending @> p_offset for update;
  if not found then
    status := 'gone';
    return;
  end if;
  if d.owner is not null
     and (case when d.sequence is null then d.due_at > clock_timestamp()
               else exists (select from inbox.sequence s
                            where s.handler_id = d.handler_id and s.sequence = d.sequence
                              and s.leased_until > clock_timestamp()) end) then
    status := 'leased';
    return;
  end if;

  if p_reason is null then
    if d.due_at <= clock_timestamp() or d.due_at = 'infinity' or d.postponed then
      status := 'otherwise';
      return;
    end if;
    d := inbox.single_out(d, p_offset);
    update inbox.delivery x set due_at = clock_timestamp() where x.delivery_id = d.delivery_id;
  else
    if not exists (
      select from inbox.event e
      where e.shard_id = d.shard_id and e."offset" = p_offset and e.event_id = p_event
        and e.received_at >= d.received_from and e.received_at <= d.received_to)
    then
      status := 'purged';
      return;
    end if;
    d := inbox.single_out(d, p_offset);
    insert into inbox.failure (event_id, handler_id, attempt, error_class, message, duration)
    values (p_event, d.handler_id, d.attempts + 1, 'operator.skipped', p_reason, '0');
    perform inbox.dead_letter(array[d.delivery_id], array[d.delivery_id], array[p_offset], array[p_event],
                              array['dead'], array[d.lane], array[d.order_key]);
    delete from inbox.delivery x where x.delivery_id = d.delivery_id;
    if d.lane is not null then
      perform inbox.advance_lanes(array[d.handler_id], array[d.sequence], array[d.lane]);
    end if;
  end if;
  status := 'done';
  insert into inbox.audit (actor, operation, target, detail)
  select p_actor, case when p_reason is null then 'events retry' else 'events skip' end, p_asked,
         jsonb_build_object('events', 1, 'event_ids', jsonb_build_array(p_event), 'handler', h.name)
  from inbox.handler h where h.handler_id = d.handler_id;
end
$$;
