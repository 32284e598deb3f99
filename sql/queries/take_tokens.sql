-- Up to $3 tokens of handler $1, of which there are $2 a second: function inbox.take_tokens. Locks: the handler's row
-- of handler_limit. Names and operators do not depend on the search path (Connection::Access::call).
select granted, wait_ms from inbox.take_tokens($1::int, $2::double precision, $3::bigint)
