-- A note on the dead letters of a handler with a class of error: $1 actor, $2 request, $3 handler, $4 error class, $5
-- text. Inserts one row; no other locks.
insert into inbox.audit (actor, operation, target, detail)
values ($1, 'dead note', $2, jsonb_build_object('handler', $3::text, 'error_class', $4::text, 'note', $5::text))
