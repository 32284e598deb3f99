-- The first start: this database is number $1 of $2 that share topics. Locks: the row, unless that is recorded already.
update inbox.ingest_right r set shard_index = $1::int, shard_of = $2::int where r.shard_of is null
