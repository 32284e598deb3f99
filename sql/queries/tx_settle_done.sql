-- settle_done inside a handler's transaction; raises an error if a lease was lost. Locks: the rows.
with gone as (
  delete from inbox.delivery d using unnest($2::bigint[], $3::bigint[], $4::text[]) s(id, fence, done)
  where d.delivery_id = s.id and d.delivery_id = any ($2::bigint[]) and d.fence = s.fence and d.owner = $1::uuid
    and d.pending = s.done::int8multirange
  returning d.delivery_id, d.handler_id, d.shard_id, d.pending, d.attempts),
noted as (
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select handler_id, shard_id, pending, 'done', attempts + 1, $1::uuid from gone)
select inbox.require_all_settled(count(*), cardinality($2::bigint[])) from gone
