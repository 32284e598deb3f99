-- Handlers that are retired and called like one of the configuration's ($1: names and former ones). No locks.
select handler_id from inbox.handler
where retired_at is not null and (name = any ($1::text[]) or aliases && $1::text[])
