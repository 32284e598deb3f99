-- Topics with a position for any partition. No locks.
select distinct s.topic from inbox.shard s where s.source = 'kafka' and exists (
  select from inbox.position p where p.shard_id = s.shard_id)
