-- Topic and partition of shards. No locks.
select shard_id, topic, partition from inbox.shard where shard_id = any ($1::int[])
