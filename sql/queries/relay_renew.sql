-- Extends the relay's lease by $3 ms; no message below $4 is left. No row: the lease was lost. Locks: the row.
update inbox.relay r
set leased_until = clock_timestamp() + $3::bigint * interval '1 ms', low_water = greatest(r.low_water, $4::bigint)
where r.owner = $1::uuid and r.fence = $2::bigint
returning true
