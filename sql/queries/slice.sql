-- Cuts leased deliveries into rows of at most $4 events: function inbox.slice. Locks: the rows, in order of id.
select parent, delivery_id, pending from inbox.slice($1::uuid, $2::bigint, $3::bigint[], $4::int)
