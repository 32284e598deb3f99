-- Sequences of handler $1 for $2, with fence $3: function inbox.take_sequences. Locks: the exclusive advisory lock on
-- routing, if there is a sequence to take. Names and operators do not depend on the search path
-- (Connection::Access::call).
select t from inbox.take_sequences(
  $1::int, $2::pg_catalog.uuid, $3::bigint, $4::double precision operator(pg_catalog.*) interval '1 ms', $5::int[],
  $6::boolean, $7::text) t
