-- Publishes messages inside a handler's transaction, under the application's search path. Locks: its new rows.
select inbox.publish_batch($1::pg_catalog.text[], $2::pg_catalog.bytea[], $3::pg_catalog.bytea[],
                           $4::pg_catalog.bytea[], $5::pg_catalog.uuid[])
