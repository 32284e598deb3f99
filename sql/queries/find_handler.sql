-- A handler by its name or one of its former names. Locks: the row.
select handler_id, name, aliases, topics, types, retired_at is not null
from inbox.handler where name = $1::text or name = any ($2::text[])
order by (name = $1::text) desc limit 1 for update
