-- Topics of which any partition has a position. No locks.
select distinct s.topic from inbox.shard s where s.source = 'kafka' and exists (
  select from inbox.position p where p.shard_id = s.shard_id)
