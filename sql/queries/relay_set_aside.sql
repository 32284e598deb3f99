-- Function inbox.relay_set_aside. Locks: shared, the relay's row; waiting messages in order of id, then lanes in order.
select inbox.relay_set_aside($1::uuid, $2::bigint, $3::bigint[], $4::text[], $5::int[], $6::bigint[])
