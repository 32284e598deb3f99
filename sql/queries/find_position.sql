-- The newest shard of a partition and its position. No locks. Indexes: the unique key of shard, the primary key of
-- position.
select s.shard_id, p.epoch, p.next_offset, p.leader_epoch, s.incarnation, s.halted_reason,
       s.gap is not null as has_gap, s.new_incarnation, p.first_offset = -1 as is_beginning,
       s.incarnation || case when s.truncations > 0 then '~' || s.truncations else '' end as log_id
from inbox.shard s
cross join lateral (
  select x.epoch, x.first_offset, x.next_offset, x.leader_epoch from inbox.position x
  where x.shard_id = s.shard_id order by x.epoch desc, x.first_offset desc limit 1) p
where s.source = 'kafka' and s.topic = $1::text and s.partition = $2::int
order by s.ordinal desc limit 1
