-- Erases events at shards $3 and offsets $4, received at $5: function inbox.forget_events. $1 actor, $2 key. Locks: as
-- the function, behind share_routing and op_dead_lock.
select erased, skipped, left_leased
from inbox.forget_events($1::text, 'key sha256:' || encode(sha256($2::bytea), 'hex'), $3::int[], $4::bigint[],
                         $5::timestamptz[])
