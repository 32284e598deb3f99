-- Handler $1 keeps no order any more: its pending events are due now, in no order, and no key is parked. Called behind
-- lock_routing. Locks: its sequences, dead letters that park a key, and deliveries. Indexes: delivery_order,
-- delivery_lane, dead_letter_parks.
with sequences as (
  delete from inbox.sequence where handler_id = $1::int),
parked as (
  update inbox.dead_letter set parks = false where handler_id = $1::int and parks)
update inbox.delivery
set sequence = null, ordinal = null, lane = null, owner = null, fence = 0,
    due_at = case when attempts > 0 and due_at < 'infinity' then due_at else clock_timestamp() end
where handler_id = $1::int and sequence is not null
