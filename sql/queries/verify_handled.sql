-- The offsets of shard $1 that have an outcome of any handler; those from $2 to $3 (exclusive) are complete. No locks.
-- Index: outcome_place.
select coalesce(range_agg(r), '{}')::text
from inbox.outcome o cross join unnest(o.offsets) r
where o.shard_id = $1::int and lower(o.offsets) > $2::bigint - 10000 and lower(o.offsets) < $3::bigint
