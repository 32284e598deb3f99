-- The pending events of handler $1 keep their order from now on as mode $2 and order_scope $3 say; $4: its order key
-- has changed. Function inbox.change_order, called after lock_routing. Returns the number of changed rows. Locks: as
-- the function.
select inbox.change_order($1::int, $2::text, $3::text, $4::boolean)
