-- Takes the relay's lease for $3 ms if it is free or was this owner's, with limit $4. Returns the number below which no
-- message is left: messages may be below the stored number if the database has lost commits. Locks: the row. Index:
-- primary key of outbox.
update inbox.relay r
set owner = $1::uuid, fence = $2::bigint, leased_until = clock_timestamp() + $3::bigint * interval '1 ms',
    message_bytes = $4::int, low_water = least(r.low_water, (select min(o.outbox_id) from inbox.outbox o))
where r.owner is null or r.owner = $1::uuid or r.leased_until < clock_timestamp()
returning r.low_water
