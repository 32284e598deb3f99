-- Which of handlers $1 (ids) are retired. No locks. Index: primary key of handler.
select handler_id from inbox.handler where handler_id = any ($1::int[]) and retired_at is not null
