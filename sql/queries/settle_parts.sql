-- settle_done for deliveries of which some have further events: the done events leave these deliveries. $5: their
-- number. Guarded by id, fence, owner and pending. Locks: the rows. Index: primary key of delivery.
with done as (
  select id, fence, done::int8multirange as offsets, events
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::int[]) s(id, fence, done, events)),
gone as (
  delete from inbox.delivery d using done s
  where d.delivery_id = s.id and d.delivery_id = any ($2::bigint[]) and d.fence = s.fence and d.owner = $1::uuid
    and d.pending = s.offsets
  returning d.delivery_id, d.fence, d.handler_id, d.shard_id, s.offsets, d.attempts),
part as (
  update inbox.delivery d set pending = d.pending - s.offsets, events = d.events - s.events
  from done s
  where d.delivery_id = s.id and d.delivery_id = any ($2::bigint[]) and d.fence = s.fence and d.owner = $1::uuid
    and d.pending @> s.offsets and d.pending <> s.offsets
  returning d.delivery_id, d.fence, d.handler_id, d.shard_id, s.offsets, d.attempts),
settled as (select * from gone union all select * from part),
noted as (
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select handler_id, shard_id, offsets, 'done', attempts + 1, $1::uuid from settled)
select delivery_id, fence from settled
