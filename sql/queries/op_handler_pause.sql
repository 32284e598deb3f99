-- Pauses handler $1 for the reason $2: function inbox.pause_handler. $3 actor. Locks: the handler's row. Index: primary
-- key of handler.
select inbox.pause_handler($1::text, $2::text, $3::text)
