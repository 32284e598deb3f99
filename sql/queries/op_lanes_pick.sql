-- Dead letters that park a key of handler $1 (null: all) and of key $2 (null: any), among $3 (null: any), at most $4.
-- Keys of retired handlers are left out. No locks. Index: dead_letter_parks.
select x.dead_letter_id, h.name
from inbox.dead_letter x join inbox.handler h using (handler_id)
where x.parks and h.retired_at is null and ($1::text is null or h.name = $1::text)
  and ($2::bytea is null or x.order_key = substr($2::bytea, 1, 256))
  and ($3::bigint[] is null or x.dead_letter_id = any ($3::bigint[]))
order by x.handler_id, x.sequence, x.lane limit $4::bigint
