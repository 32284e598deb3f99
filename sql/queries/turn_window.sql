-- The window of a batch handler, and whether it closes: function inbox.turn_window. Times in microseconds since 1970.
-- Locks: the sequence; the window's row. Index: delivery_order. Names and operators do not depend on the search path
-- (Connection::Access::call).
select state, (extract(epoch from asked_now) operator(pg_catalog.*) 1000000::numeric)::bigint,
       (extract(epoch from decided_until) operator(pg_catalog.*) 1000000::numeric)::bigint,
       (extract(epoch from closed_at) operator(pg_catalog.*) 1000000::numeric)::bigint, events
from inbox.turn_window(
  $1::int, $2::pg_catalog.uuid, $3::bigint,
  timestamp with time zone 'epoch'
    operator(pg_catalog.+) ($4::double precision operator(pg_catalog.*) interval '1 us'),
  timestamp with time zone 'epoch'
    operator(pg_catalog.+) ($5::double precision operator(pg_catalog.*) interval '1 us'),
  $6::bigint, $7::int, $8::bigint operator(pg_catalog.*) interval '1 ms')
