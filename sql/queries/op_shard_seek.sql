-- Reads shard $1 from offset $3 on, if its epoch is still $2: a new epoch with that position. A daemon that reads under
-- the earlier epoch stores nothing more, finds the new position within 15 s and seeks there. Offsets that are passed
-- over are noted as a gap. Writes audit; $4 actor. Returns the position before. Does nothing to a halted shard, or to a
-- shard that is not the newest of its partition. Locks: the shard's row. Indexes: shard's primary and unique keys.
with waiting as materialized (
  select s.* from inbox.shard s
  where s.shard_id = $1::int and s.source = 'kafka' and s.halted_reason is null
    and not exists (
      select from inbox.shard newer
      where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
        and newer.ordinal > s.ordinal)
  for update of s),
newest as materialized (
  select w.*, p.epoch, p.next_offset
  from waiting w
  join lateral (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = w.shard_id order by p.epoch desc, p.first_offset desc limit 1) p on p.epoch = $2::int),
moved as (
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select n.shard_id, n.epoch + 1, -1, $3::bigint, 0 from newest n),
passed as (
  update inbox.shard s set gaps = s.gaps + int8multirange(int8range(n.next_offset, $3::bigint))
  from newest n where s.shard_id = n.shard_id and n.next_offset < $3::bigint),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $4::text, 'partitions seek', n.topic || '/' || n.partition,
         jsonb_build_object('from', n.next_offset, 'to', $3::bigint)
  from newest n)
select n.next_offset from newest n
