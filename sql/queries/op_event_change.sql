-- Retries event $5 at offset $4 of delivery $3 now, or skips it for reason $6: function inbox.change_event. $1 actor,
-- $2 the request. Locks: as the function.
select inbox.change_event($1::text, $2::text, $3::bigint, $4::bigint, $5::uuid, $6::text)
