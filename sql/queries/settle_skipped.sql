-- Records deliveries of dropped events as skipped. Locks: the rows. Index: primary key of delivery.
with gone as (
  delete from inbox.delivery d using unnest($2::bigint[], $3::bigint[]) s(id, fence)
  where d.delivery_id = s.id and d.delivery_id = any ($2::bigint[]) and d.fence = s.fence and d.owner = $1::uuid
  returning d.*)
insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
select handler_id, shard_id, pending, 'skipped', attempts, $1::uuid from gone
