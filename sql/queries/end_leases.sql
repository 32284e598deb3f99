-- Ends the leases of processes $1 for their successor $2, at most $3 deliveries: function inbox.end_leases. False: some
-- are left. Locks: as the function.
select inbox.end_leases($1::uuid[], $2::uuid, $3::int)
