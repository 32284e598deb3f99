-- The local topics, with the positions of their shards. No locks. Index: primary key of position.
select t.topic, t.shard_id, p.epoch, p.next_offset
from inbox.local_topic t
cross join lateral (
  select x.epoch, x.next_offset from inbox.position x
  where x.shard_id = t.shard_id order by x.epoch desc, x.first_offset desc limit 1) p
order by t.topic
