-- A name of $1 that is a live handler's other than $2: an alias that is no former name. No locks.
select name from inbox.handler
where name = any ($1::text[]) and handler_id <> $2::int and retired_at is null
order by name limit 1
