-- Function inbox.relay_due. Locks: shared, the relay's row; ended lanes, SKIP LOCKED.
select * from inbox.relay_due($1::uuid, $2::bigint, $3::int, $4::bigint, $5::bigint[])
