-- Claims due deliveries of a handler: function inbox.claim. Locks: the rows it claims, SKIP LOCKED. Indexes:
-- delivery_due, delivery_fresh.
-- Names and operators do not depend on the search path (Connection::Access::call).
select delivery_id, shard_id, pending, events, attempts, claims, received_from, received_to, locked,
       never_expires, was_alone, was_deferred
from inbox.claim(
  $1::int, $2::pg_catalog.uuid, $3::bigint, $4::double precision operator(pg_catalog.*) interval '1 ms', $5::bigint,
  $6::int,
  coalesce(timestamp with time zone 'epoch'
             operator(pg_catalog.+) ($7::double precision operator(pg_catalog.*) interval '1 us'), '-infinity'),
  $8::int, $9::int)
