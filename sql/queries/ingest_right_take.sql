-- Takes the right to read this database's partitions for $3 ms if it is free or was this owner's, and the schema
-- belongs to shard $4 of $5; no row: another process has it, or the shards have changed. Locks: the row.
update inbox.ingest_right r
set owner = $1::uuid, fence = $2::bigint, leased_until = clock_timestamp() + $3::bigint * interval '1 ms'
where (r.owner is null or r.owner = $1::uuid or r.leased_until < clock_timestamp())
  and r.shard_index = $4::int and r.shard_of = $5::int
returning r.fence
