-- Runs a bite of deleting old events of a shard: function inbox.trim_events. $2: received before, in microseconds since
-- 1970. Locks: as the function; the deleted rows.
select gone, next_offset
from inbox.trim_events($1::int, 'epoch'::timestamptz + $2::bigint * interval '1 us', $3::bigint, $4::int)
