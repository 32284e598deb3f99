-- Some events of one delivery are done, others are still to come: inside a handler's transaction, ends it where the
-- lease was lost. Where another transaction has settled all others meanwhile (a slow call gave them away), these are
-- the last, and the row goes: the update waits for that one, finds that nothing would be left, and only then the
-- deletion is looked at. Locks: the row.
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
select inbox.demand(count(*), 1) from settled
