-- The present name of the handler with name or former name $1; null: none. No locks.
select inbox.handler_called($1::text)
