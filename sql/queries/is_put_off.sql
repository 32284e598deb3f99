-- Whether partition $2 of topic $1 had its first start without a position. No locks. Indexes: the unique key of shard,
-- the primary key of position.
select exists (
  select from inbox.shard s
  where s.source = 'kafka' and s.topic = $1::text and s.partition = $2::int
    and not exists (select from inbox.position p where p.shard_id = s.shard_id))
