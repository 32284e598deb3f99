-- Present positions of shards $1, a row for each: nulls if there is no such shard, or none with a position. No rows
-- from a standby, which may lag. No locks. Indexes: the primary keys of shard and position.
select asked.shard_id, s.topic, s.partition, p.epoch, p.next_offset
from unnest($1::int[]) asked(shard_id)
left join inbox.shard s using (shard_id)
left join lateral (
  select x.epoch, x.next_offset from inbox.position x
  where x.shard_id = s.shard_id order by x.epoch desc, x.first_offset desc limit 1) p on true
where not pg_is_in_recovery()
