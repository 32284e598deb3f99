-- Pauses handler $1 for the reason $3: function inbox.blow_fuse. $2 this process; $4: its fuse has blown; $5 actor.
-- Locks: the handler's row. Index: primary key of handler.
select inbox.blow_fuse($1::int, $2::uuid, $3::text, $4::boolean, $5::text)
