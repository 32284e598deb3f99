-- Settles some events of a delivery as done, inside a handler's transaction; raises an error if the lease was lost. If
-- another transaction has settled all others meanwhile (a slow call shared the row), these are the last and the row is
-- deleted: the update waits for that transaction, finds that no offset would be left, and then the deletion is tried.
-- Locks: the row. Index: primary key of delivery.
with part as (
  update inbox.delivery d
  set pending = d.pending - $4::text::int8multirange, events = d.events - $5::int
  where d.delivery_id = $2::bigint and d.fence = $3::bigint and d.owner = $1::uuid
    and d.pending @> $4::text::int8multirange and d.pending <> $4::text::int8multirange
  returning d.handler_id, d.shard_id, d.attempts),
last_part as (
  delete from inbox.delivery d
  where not exists (select from part) and d.delivery_id = $2::bigint and d.fence = $3::bigint and d.owner = $1::uuid
    and d.pending @> $4::text::int8multirange
  returning d.handler_id, d.shard_id, d.attempts),
settled as (select * from part union all select * from last_part),
noted as (
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select handler_id, shard_id, $4::text::int8multirange, 'done', attempts + 1, $1::uuid from settled)
select inbox.require_all_settled(count(*), 1) from settled
