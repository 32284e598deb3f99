-- First positions of partitions; existing positions stay. Unknown positions ($4 null) are put off: the shard is
-- inserted with the reason, and a later call adds its position. All or none, so that no reader sees half of a first
-- start. With an entry of the configuration ($5) that is recorded as started; writes nothing if another instance was
-- faster. Locks: the new rows; waits for another session that starts the same entry.
with started as (
  insert into inbox.topic_start (entry) select $5::text where $5::text is not null
  on conflict do nothing
  returning entry),
wanted as (
  select * from unnest($1::text[], $2::text[], $3::int[], $4::bigint[]) x(topic, incarnation, partition, next_offset)
  where $5::text is null or exists (select from started)),
fresh as (
  insert into inbox.shard (topic, partition, incarnation, halted_reason, halted_at)
  select w.topic, w.partition, w.incarnation,
         case when w.next_offset is null then 'not readable: the partition had no leader at the first start' end,
         case when w.next_offset is null then clock_timestamp() end
  from wanted w
  where not exists (
    select from inbox.shard s where s.source = 'kafka' and s.topic = w.topic and s.partition = w.partition)
  order by w.topic, w.partition
  on conflict do nothing
  returning shard_id, topic, partition),
put_off as (
  select s.shard_id, s.topic, s.partition
  from inbox.shard s join wanted w on w.topic = s.topic and w.partition = s.partition
  where s.source = 'kafka' and not exists (select from inbox.position p where p.shard_id = s.shard_id))
insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
select f.shard_id, 0, -1, w.next_offset, 0
from (table fresh union all table put_off) f join wanted w on w.topic = f.topic and w.partition = f.partition
where w.next_offset is not null
on conflict do nothing
