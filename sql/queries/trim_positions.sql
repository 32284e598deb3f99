-- Deletes a chunk of old positions, keeping the newest 1,000 of each shard, and those that begin an epoch: `verify`
-- starts there. Locks: the rows.
with newest as (
  select s.shard_id, p.epoch, p.first_offset
  from inbox.shard s
  cross join lateral (
    select x.epoch, x.first_offset from inbox.position x where x.shard_id = s.shard_id
    order by x.epoch desc, x.first_offset desc offset 1000 limit 1) p),
old as (
  select p.shard_id, p.epoch, p.first_offset
  from newest n join inbox.position p on p.shard_id = n.shard_id
  where (p.epoch, p.first_offset) < (n.epoch, n.first_offset) and p.first_offset >= 0
  limit $1::int)
delete from inbox.position p using old
where p.shard_id = old.shard_id and p.epoch = old.epoch and p.first_offset = old.first_offset
