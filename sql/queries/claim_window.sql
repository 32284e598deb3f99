-- Deliveries of the closed window of a batch handler: function inbox.claim_window. Locks: shared advisory lock on
-- routing; the rows it claims; the window's row. Indexes: delivery_order or delivery_group. Names and operators do not
-- depend on the search path (Connection::Access::call).
select state, sequence, epoch, next_offset, delivery_id, shard_id, pending, events, attempts, claims, received_from,
       received_to, ordinal, lane, group_key, never_expires, was_alone
from inbox.claim_window($1::int, $2::pg_catalog.uuid, $3::bigint, $4::bigint, $5::bigint, $6::int, $7::boolean,
                        $8::int, $9::int, $10::int, $11::int)
