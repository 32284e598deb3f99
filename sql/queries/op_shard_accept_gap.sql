-- Resumes a halted partition after records that Kafka has lost: records the gap as accepted, clears the halt, writes
-- audit. Usually the shard gets a new epoch with a position after the gap. If the log was truncated (the gap ends at
-- the position), a new shard starts at the cut, because its offsets repeat with other records; the old shard gets a new
-- epoch, so that an instance that still reads under it stores nothing. Does nothing if the gap or position is not as
-- the operator saw it. $1 shard, $2 and $3 its gap, $4 its position, $5 actor. Locks: the shard's row. Indexes: shard's
-- primary and unique keys.
with waiting as materialized (
  select s.* from inbox.shard s
  where s.shard_id = $1::int and s.source = 'kafka' and s.gap = int8range($2::bigint, $3::bigint)
    and not exists (
      select from inbox.shard newer
      where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
        and newer.ordinal > s.ordinal)
  for update of s),
newest as materialized (
  select w.*, p.epoch, p.next_offset, p.next_offset = upper(w.gap) as truncated,
         case when p.next_offset = upper(w.gap) then lower(w.gap)
              else greatest(p.next_offset, upper(w.gap)) end as target
  from waiting w
  join lateral (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = w.shard_id order by p.epoch desc, p.first_offset desc limit 1) p
    on p.next_offset = $4::bigint),
fresh as (
  insert into inbox.shard (source, topic, partition, incarnation, truncations, ordinal)
  select n.source, n.topic, n.partition, n.incarnation, n.truncations + 1, n.ordinal + 1 from newest n where n.truncated
  returning shard_id),
placed as (
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select f.shard_id, 0, -1, n.target, 0 from fresh f cross join newest n),
moved as (
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select n.shard_id, n.epoch + 1, -1, case when n.truncated then n.next_offset else n.target end, 0
  from newest n where n.next_offset <> n.target),
resumed as (
  update inbox.shard s
  set gaps = s.gaps + int8multirange(n.gap), gap = null, halted_reason = null, halted_at = null
  from newest n where s.shard_id = n.shard_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $5::text, 'partitions accept-gap', n.topic || '/' || n.partition,
         jsonb_build_object('from', lower(n.gap), 'to', upper(n.gap), 'position', n.next_offset,
                            'truncated', n.truncated, 'halted_reason', n.halted_reason)
  from newest n)
select lower(n.gap), upper(n.gap), n.target from newest n
