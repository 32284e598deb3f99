-- Takes the lease of the reader of local events for $3 ms if it is free or was this owner's. Returns the number below
-- which no event is left: events may be below the stored number if the database has lost commits. Locks: the row.
-- Index: primary key of local_event.
update inbox.local_reader r
set owner = $1::uuid, fence = $2::bigint, leased_until = clock_timestamp() + $3::bigint * interval '1 ms',
    low_water = least(r.low_water, (select min(l.local_id) from inbox.local_event l))
where r.owner is null or r.owner = $1::uuid or r.leased_until < clock_timestamp()
returning r.low_water
