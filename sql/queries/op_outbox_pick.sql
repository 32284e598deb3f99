-- Refused messages: $1 by number (none: any), of topics $2 (LIKE patterns; none: all), at most $3. No locks.
select l.failed_id, l.topic
from inbox.outbox_lane l
where l.failed_id is not null
  and (cardinality($1::bigint[]) = 0 or l.failed_id = any ($1::bigint[]))
  and (cardinality($2::text[]) = 0 or l.topic like any ($2::text[]))
order by l.failed_id limit $3::bigint
