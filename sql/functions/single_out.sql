-- Leaves only the event at p_offset in a delivery that the caller has locked and that is not leased; the events before
-- and after it become rows of their own, at the same place of the order. Returns the row. Of a lane's first row, the
-- first piece is due. Locks: its new rows. Index: primary key of delivery.
create or replace function inbox.single_out(d inbox.delivery, p_offset bigint) returns inbox.delivery
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_before int8multirange := d.pending * int8multirange(int8range(null, p_offset));
  v_behind int8multirange := d.pending * int8multirange(int8range(p_offset + 1, null));
begin
  d.ordinal := case when d.sequence is not null then coalesce(d.ordinal, d.delivery_id) end;
  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, group_key, pending, events,
                              attempts, claims, due_at, never_expires, postponed, received_from, received_to,
                              last_error)
  select d.handler_id, d.shard_id, d.sequence, d.ordinal, d.lane, d.order_key, d.group_key, p.pending,
         inbox.count_of(p.pending), d.attempts, d.claims,
         case when d.lane is not null and p.is_behind then 'infinity' else d.due_at end,
         d.never_expires, d.postponed, d.received_from, d.received_to, d.last_error
  from (values (v_before, false), (v_behind, true)) p(pending, is_behind) where not isempty(p.pending);
  d.pending := int8multirange(int8range(p_offset, p_offset + 1));
  d.events := 1;
  if d.lane is not null and not isempty(v_before) then
    d.due_at := 'infinity';
  end if;
  update inbox.delivery x set pending = d.pending, events = d.events, ordinal = d.ordinal, due_at = d.due_at
  where x.delivery_id = d.delivery_id;
  return d;
end
$$;
