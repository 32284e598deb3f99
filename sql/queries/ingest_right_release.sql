-- Ends the right to read this database's partitions. Locks: the row.
update inbox.ingest_right r
set owner = null, fence = 0, leased_until = null
where r.owner = $1::uuid and r.fence = $2::bigint
