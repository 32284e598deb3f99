-- Extends the relay's lease by $3 ms; no message below $4 is left. Returns whether there is such a message
-- nevertheless, because the database has lost commits; asks only if $5. No row: the lease was lost. Locks: the row.
-- Index: primary key of outbox.
update inbox.relay r
set leased_until = clock_timestamp() + $3::bigint * interval '1 ms', low_water = greatest(r.low_water, $4::bigint)
where r.owner = $1::uuid and r.fence = $2::bigint
returning $5::boolean and exists (select from inbox.outbox o where o.outbox_id < $4::bigint)
