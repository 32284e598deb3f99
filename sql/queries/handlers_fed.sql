-- When commands last added deliveries of handlers $1 (ids). No locks. Index: primary key.
select h.handler_id, (extract(epoch from h.fed_at) * 1000000)::bigint
from inbox.handler h where h.handler_id = any ($1::int[]) and h.fed_at is not null
