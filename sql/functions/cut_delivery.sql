-- Leaves the first p_events events in a delivery that the caller has locked; the rest becomes a row of its own, at the
-- same place of the order. Returns the row. Locks: its new row. Index: primary key of delivery.
create or replace function inbox.cut_delivery(d inbox.delivery, p_events bigint) returns inbox.delivery
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_first int8multirange;
begin
  if p_events >= d.events then
    return d;
  end if;
  v_first := inbox.first_of(d.pending, p_events);
  if d.pending = v_first then
    return d;
  end if;
  d.ordinal := case when d.sequence is not null then coalesce(d.ordinal, d.delivery_id) end;
  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, group_key, pending, events,
                              attempts, claims, due_at, never_expires, received_from, received_to, last_error)
  values (d.handler_id, d.shard_id, d.sequence, d.ordinal, d.lane, d.order_key, d.group_key, d.pending - v_first,
          inbox.count_of(d.pending - v_first), d.attempts, d.claims,
          case when d.lane is null then d.due_at else 'infinity' end, d.never_expires, d.received_from, d.received_to,
          d.last_error);
  d.pending := v_first;
  d.events := p_events;
  update inbox.delivery x set pending = d.pending, events = d.events, ordinal = d.ordinal
  where x.delivery_id = d.delivery_id;
  return d;
end
$$;
