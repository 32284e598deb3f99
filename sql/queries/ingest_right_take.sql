-- Takes the right to read this database's partitions for $3 ms if it is free or was this owner's; no row: another
-- process has it. Locks: the row.
update inbox.ingest_right r
set owner = $1::uuid, fence = $2::bigint, leased_until = clock_timestamp() + $3::bigint * interval '1 ms'
where r.owner is null or r.owner = $1::uuid or r.leased_until < clock_timestamp()
returning r.fence
