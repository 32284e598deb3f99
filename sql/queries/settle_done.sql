-- Deliveries whose events are all done: deletes the row, inserts an outcome. Guarded by id, fence, owner and the exact
-- pending. Locks: the rows. Index: primary key of delivery.
with gone as (
  delete from inbox.delivery d using unnest($2::bigint[], $3::bigint[], $4::text[]) s(id, fence, done)
  where d.delivery_id = s.id and d.delivery_id = any ($2::bigint[]) and d.fence = s.fence and d.owner = $1::uuid
    and d.pending = s.done::int8multirange
  returning d.delivery_id, d.fence, d.handler_id, d.shard_id, d.pending, d.attempts),
noted as (
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select handler_id, shard_id, pending, 'done', attempts + 1, $1::uuid from gone)
select delivery_id, fence from gone
