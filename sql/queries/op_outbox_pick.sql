-- The first messages of stopped lanes: $1 by number (none: any), of topics $2 (LIKE patterns; none: all), at most $3.
-- No locks. Indexes: primary key of outbox_lane, outbox_waiting_lane.
select h.outbox_id, l.topic
from inbox.outbox_lane l
cross join lateral (select w.outbox_id from inbox.outbox_waiting w where w.lane = l.lane order by w.outbox_id limit 1) h
where (cardinality($1::bigint[]) = 0 or h.outbox_id = any ($1::bigint[]))
  and (cardinality($2::text[]) = 0 or l.topic like any ($2::text[]))
order by h.outbox_id limit $3::bigint
