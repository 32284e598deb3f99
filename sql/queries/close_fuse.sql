-- Ends the trial of handler $1 by process $2, which worked: function inbox.close_fuse. $3 actor. Locks: the handler's
-- row. Index: primary key of handler.
select inbox.close_fuse($1::int, $2::uuid, $3::text)
