-- Adds waiting rows of a lane to its first row, so that a single claim takes them: after a failure each event may have
-- come to the lane in a row of its own. The caller has locked the first row. Returns it with at most p_events events.
-- Only once the event that began the lane is over: else all would come back when it fails again. Rows of replays and
-- back-fills stay apart, because another replay may put an event between them. So do rows of a whole handler, whose
-- order has other columns, and rows that would make the run span more than 10,000 offsets.
-- Locks: the added rows, SKIP LOCKED; ends at a locked row. Indexes: delivery_lane, primary key of delivery.
create or replace function inbox.join_lane(d inbox.delivery, p_events bigint) returns inbox.delivery
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  e inbox.delivery;
  v_joined bigint[] := '{}';
begin
  if d.attempts > 0 or d.last_error is not null or d.postponed or d.claims > 0 or d.never_expires or d.sequence = 0 then
    return d;
  end if;
  for e in
    select x.* from inbox.delivery x
    where x.handler_id = d.handler_id and x.sequence = d.sequence and x.lane = d.lane
      and coalesce(x.ordinal, x.delivery_id) >= coalesce(d.ordinal, d.delivery_id) and x.delivery_id <> d.delivery_id
    order by coalesce(x.ordinal, x.delivery_id), x.shard_id, lower(x.pending) limit 256
  loop
    exit when e.owner is not null or e.due_at <> 'infinity' or e.attempts > 0 or e.last_error is not null
      or e.postponed or e.claims > 0 or e.never_expires or d.events + e.events > p_events
      or lower(e.pending) < upper(d.pending) or upper(e.pending) - lower(d.pending) > 10000;
    -- A dead letter between them keeps its place for a replay.
    exit when exists (
      select from inbox.dead_letter x
      where x.handler_id = d.handler_id and x.sequence = d.sequence and x.lane = d.lane
        and x."offset" >= upper(d.pending) and x."offset" < lower(e.pending));
    perform from inbox.delivery x
    where x.delivery_id = e.delivery_id and x.pending = e.pending and x.owner is null and x.due_at = 'infinity'
    for update skip locked;
    exit when not found;
    d.pending := d.pending + e.pending;
    d.events := d.events + e.events;
    d.received_from := least(d.received_from, e.received_from);
    d.received_to := greatest(d.received_to, e.received_to);
    v_joined := v_joined || e.delivery_id;
  end loop;
  if cardinality(v_joined) > 0 then
    d.ordinal := coalesce(d.ordinal, d.delivery_id);
    delete from inbox.delivery x where x.delivery_id = any (v_joined);
    update inbox.delivery x
    set pending = d.pending, events = d.events, ordinal = d.ordinal, received_from = d.received_from,
        received_to = d.received_to
    where x.delivery_id = d.delivery_id;
  end if;
  return d;
end
$$;
