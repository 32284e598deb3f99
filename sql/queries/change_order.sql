-- The pending events of handler $1 keep their order from now on as mode $2 and order_scope $3 say: those of a sequence
-- belong to another one, or to none and are due now. All of a batch handler wait for its next window. Called behind
-- lock_routing. Locks: its sequences, its window, its dead letters of lanes, and deliveries. Indexes: delivery_order,
-- delivery_lane, dead_letter_lane.
with sequences as (
  delete from inbox.sequence where handler_id = $1::int),
batch_windows as (
  delete from inbox.batch_window where handler_id = $1::int),
dead as (
  update inbox.dead_letter x
  set sequence = inbox.sequence_of($2::text, $3::text, x.shard_id),
      lane = case when $2::text = 'sequential' then x.lane end, parks = x.parks and $2::text = 'sequential'
  where x.handler_id = $1::int and x.lane is not null)
update inbox.delivery d
set sequence = inbox.sequence_of($2::text, $3::text, d.shard_id),
    group_key = null, ordinal = case when $2::text <> 'single' then coalesce(d.ordinal, d.delivery_id) end,
    lane = case when $2::text = 'sequential' then d.lane end, owner = null, fence = 0,
    due_at = case when $2::text = 'sequential' and d.lane is null then 'infinity'
                  when d.owner is null and (d.due_at < 'infinity' or $2::text <> 'single') then d.due_at
                  when $2::text = 'batch' then 'infinity' else clock_timestamp() end
where d.handler_id = $1::int and (d.sequence is not null or $2::text = 'batch')
