-- Erases events at shards $2 and offsets $3, received at $4: function inbox.forget_events. $1 actor. Locks: as the
-- function, after share_routing and op_dead_lock.
select erased, skipped, left_leased
from inbox.forget_events($1::text, $2::int[], $3::bigint[], $4::timestamptz[])
