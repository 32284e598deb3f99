-- A new handler, routed to from the next version on.
insert into inbox.handler (name, aliases, topics, types, started_from, routing_version)
select $1::text, $2::text[], $3::text[], $4::text[], $5::text, version + 1 from inbox.routing
returning handler_id
