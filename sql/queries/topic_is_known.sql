-- Whether any partition of a topic has a position. No locks.
select exists (
  select from inbox.shard s join inbox.position p using (shard_id) where s.source = 'kafka' and s.topic = $1::text)
