-- Due deliveries of one handler: function inbox.claim. Locks: the rows it takes, SKIP LOCKED. Index: delivery_due.
select delivery_id, shard_id, pending, events, attempts, claims, received_from, received_to, locked
from inbox.claim($1::int, $2::uuid, $3::bigint, $4::bigint * interval '1 ms', $5::bigint, $6::int,
                 coalesce('epoch'::timestamptz + $7::bigint * interval '1 us', '-infinity'), $8::int, $9::int)
