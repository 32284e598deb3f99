-- Publishes messages inside a handler's transaction. Locks: its new rows.
select inbox.publish_batch($1::text[], $2::bytea[], $3::bytea[], $4::bytea[])
