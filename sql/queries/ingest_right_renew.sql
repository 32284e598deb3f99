-- Extends the right to read this database's partitions by $3 ms; no row: it was lost, or the schema
-- does not belong to shard $4 of $5 any more. Locks: the row.
update inbox.ingest_right r
set leased_until = clock_timestamp() + $3::bigint * interval '1 ms'
where r.owner = $1::uuid and r.fence = $2::bigint and r.shard_index = $4::int and r.shard_of = $5::int
returning r.fence
