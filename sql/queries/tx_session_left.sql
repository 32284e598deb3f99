-- What a handler left in its session, asked after COMMIT; it is undone. No locks.
select inbox.session_left($1::text[])
