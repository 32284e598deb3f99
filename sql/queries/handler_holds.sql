-- Which handlers $2 of process $1 are open, held or on trial (for $4 ms, only handlers in $3): function
-- inbox.handler_holds. Locks: rows of handlers on trial. Index: primary key of handler. Names and operators do not
-- depend on the search path (Connection::Access::call).
select handler_id, state
from inbox.handler_holds($1::pg_catalog.uuid, $2::int[], $3::int[],
                         $4::double precision operator(pg_catalog.*) interval '1 ms')
