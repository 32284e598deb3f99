-- Names of those of handlers $1 (ids) that are retired. No locks. Index: primary key of handler.
select name from inbox.handler where handler_id = any ($1::int[]) and retired_at is not null order by name
