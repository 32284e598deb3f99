-- Failed attempts of event $1 since $2. No locks. Index: failure_event of the days since.
select h.name, f.attempt, (extract(epoch from f.occurred_at) * 1000000)::bigint, f.error_class, f.message,
       (extract(epoch from f.duration) * 1000000)::bigint
from inbox.failure f join inbox.handler h using (handler_id)
where f.event_id = $1::uuid
  and f.occurred_at >= coalesce('epoch'::timestamptz + $2::bigint * interval '1 us', '-infinity')
order by f.occurred_at
