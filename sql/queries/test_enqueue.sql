-- For `inboxd test`: enqueues an event as an application does: topic $1, type $2, payload $3, id $4, key $5, headers
-- $6, times $7 and $8 in microseconds since 1970. Locks: as the function.
select inbox.enqueue($1::text, $2::text, $3::bytea, event_id => $4::uuid, key => $5::bytea, headers => $6::jsonb,
                     occurred_at => 'epoch'::timestamptz + $7::bigint * interval '1 microsecond',
                     deliver_at => 'epoch'::timestamptz + $8::bigint * interval '1 microsecond')
