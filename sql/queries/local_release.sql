-- Ends the lease of the reader of local events; no event below $3 is left. Locks: the row.
update inbox.local_reader r
set owner = null, fence = 0, leased_until = null, low_water = greatest(r.low_water, $3::bigint)
where r.owner = $1::uuid and r.fence = $2::bigint
