-- Shards to be read whose end no instance has observed for $1 ms: the newest shards with a position that are not
-- halted. No locks. Indexes: unique keys of shard, primary key of position.
select s.shard_id, s.topic, s.partition, s.incarnation
from inbox.shard s
where s.source = 'kafka' and s.halted_reason is null
  and coalesce(s.observed_at < clock_timestamp() - $1::bigint * interval '1 ms', true)
  and exists (select from inbox.position p where p.shard_id = s.shard_id)
  and not exists (
    select from inbox.shard newer
    where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
      and newer.ordinal > s.ordinal)
