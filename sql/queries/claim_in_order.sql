-- Claims due deliveries of a handler's sequences: function inbox.claim_in_order. Locks: shared advisory lock on
-- routing; the rows it claims. Indexes: delivery_order, delivery_due, delivery_lane. Names and operators do not depend
-- on the search path (Connection::Access::call).
select state, sequence, epoch, next_offset, delivery_id, shard_id, pending, events, attempts, claims, received_from,
       received_to, ordinal, lane, null::bigint, never_expires, was_alone
from inbox.claim_in_order(
  $1::int, $2::pg_catalog.uuid, $3::bigint, $4::bigint, $5::int,
  coalesce(timestamp with time zone 'epoch'
             operator(pg_catalog.+) ($6::double precision operator(pg_catalog.*) interval '1 us'), '-infinity'),
  $7::int[], $8::bigint[], $9::int[], $10::bigint[], $11::bigint[], $12::bigint[], $13::int, $14::int)
