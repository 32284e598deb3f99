-- How many of $3 parallel calls of handler $1 process $2 may make; it wants $4, has $5, for $6 ms: function
-- inbox.share_calls. Locks: the handler's row of handler_limit. Names and operators do not
-- depend on the search path (Connection::Access::call).
select inbox.share_calls($1::int, $2::pg_catalog.uuid, $3::int, $4::int, $5::int,
                         $6::double precision operator(pg_catalog.*) interval '1 ms')
