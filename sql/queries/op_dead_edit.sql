-- Puts payload $2 and headers $3 in place of the payload and headers of dead letter $1's event, for its handler; they
-- replace an earlier edit. $4 actor. Returns a row unless the dead letter is gone. Followed by op_dead_replay in the
-- same transaction. Locks: the edit, after share_routing and op_dead_lock. Indexes: primary key of dead_letter; unique
-- key of edit.
insert into inbox.edit (handler_id, shard_id, "offset", event_id, payload, headers, received_at, edited_by)
select x.handler_id, x.shard_id, x."offset", x.event_id, $2::bytea, $3::bytea, x.received_at, $4::text
from inbox.dead_letter x where x.dead_letter_id = $1::bigint
on conflict (handler_id, shard_id, "offset") do update
set event_id = excluded.event_id, payload = excluded.payload, headers = excluded.headers,
    received_at = excluded.received_at, edited_at = clock_timestamp(), edited_by = excluded.edited_by
returning edit_id
