-- What the configuration says of a known handler now.
update inbox.handler
set name = $2::text, aliases = $3::text[], topics = $4::text[], types = $5::text[], retired_at = null
where handler_id = $1::int
