-- Starts a topic that was deleted and created again: a new shard at the beginning for each halted partition; the old
-- shard's halt is cleared; written to audit. The old shard gets a new epoch, so that an instance that still reads under
-- it stores nothing: where the new topic has grown that far, the client library continues at the old offsets. An
-- incarnation that had a shard before (a daemon read from another cluster meanwhile) gets a further shard, counted like
-- a truncation, and is read again; ids made of positions are new. $1 shards, $2 the new incarnation that the operator
-- saw for each, $3 actor. All or none: none if a shard waits for another incarnation or for none by now. Locks: the
-- shards' rows, in order of id. Indexes: shard's primary and unique keys.
with waiting as materialized (
  select s.shard_id, s.source, s.topic, s.partition, s.incarnation, s.ordinal, s.new_incarnation as new_id
  from unnest($1::int[], $2::text[]) as seen (shard_id, new_id)
  join inbox.shard s on s.shard_id = seen.shard_id and s.new_incarnation = seen.new_id
  where s.source = 'kafka' and not exists (
    select from inbox.shard newer
    where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
      and newer.ordinal > s.ordinal)
  order by s.shard_id for update of s),
recreated as materialized (
  select w.* from waiting w where (select count(*) from waiting) = cardinality($1::int[])),
fresh as (
  insert into inbox.shard (source, topic, partition, incarnation, truncations, ordinal)
  select r.source, r.topic, r.partition, r.new_id,
         (select coalesce(max(same.truncations) + 1, 0) from inbox.shard same
          where same.source = r.source and same.topic = r.topic and same.partition = r.partition
            and same.incarnation = r.new_id),
         r.ordinal + 1
  from recreated r order by r.partition
  returning shard_id, partition),
placed as (
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select f.shard_id, 0, -1, 0, 0 from fresh f),
fenced as (
  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version)
  select r.shard_id, p.epoch + 1, -1, p.next_offset, 0
  from recreated r
  cross join lateral (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = r.shard_id order by p.epoch desc, p.first_offset desc limit 1) p),
resumed as (
  update inbox.shard s set new_incarnation = null, halted_reason = null, halted_at = null
  from recreated r where s.shard_id = r.shard_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $3::text, 'partitions accept-recreated', r.topic || '/' || r.partition,
         jsonb_build_object('old', r.incarnation, 'new', r.new_id)
  from recreated r)
select r.partition, r.incarnation, r.new_id from recreated r join fresh f using (partition) order by r.partition
