-- Extends the lease of the reader of local events by $3 ms; no event below $4 is left. Returns whether there is such an
-- event nevertheless, because the database has lost commits; asks only if $5. No row: the lease was lost. Locks: the
-- row. Index: primary key of local_event.
update inbox.local_reader r
set leased_until = clock_timestamp() + $3::bigint * interval '1 ms', low_water = greatest(r.low_water, $4::bigint)
where r.owner = $1::uuid and r.fence = $2::bigint
returning $5::boolean and exists (select from inbox.local_event l where l.local_id < $4::bigint)
