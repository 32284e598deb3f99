-- Waits for open settlements of handler $1, and keeps others out to the end of this transaction: function
-- inbox.await_settlements, called after lock_routing. Locks: as the function.
select inbox.await_settlements($1::int, null)
