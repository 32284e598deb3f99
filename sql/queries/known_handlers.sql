-- Which of handlers $1 (ids) exist. No locks. Index: primary key of handler.
select handler_id from inbox.handler where handler_id = any ($1::int[])
