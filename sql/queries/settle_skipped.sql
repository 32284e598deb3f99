-- Function inbox.settle_skipped: the deliveries $2 of process $1, with fences $3, whose events are gone. Locks: as it
-- says. Names do not depend on the search path (Connection::Access::call).
select inbox.settle_skipped($1::pg_catalog.uuid, $2::bigint[], $3::bigint[])
