-- First positions of a topic's partitions; what is there stays. Locks: the new rows.
with fresh as (
  insert into inbox.shard (topic, partition, incarnation)
  select $1::text, x.partition, $2::text from unnest($3::int[], $4::bigint[]) x(partition, next_offset)
  where not exists (
    select from inbox.shard s where s.source = 'kafka' and s.topic = $1::text and s.partition = x.partition)
  on conflict do nothing
  returning shard_id, partition)
insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
select f.shard_id, 0, -1, x.next_offset, 0
from fresh f join unnest($3::int[], $4::bigint[]) x(partition, next_offset) on x.partition = f.partition
on conflict do nothing
