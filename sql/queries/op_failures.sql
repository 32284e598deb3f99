-- Failed attempts after $1 (us since 1970; null: of the last hour), of handler $2, of events with key $3 (null: all),
-- newest first, at most $4. No locks. Indexes: failure_time, primary key of ledger, event_place.
select f.event_id, h.name as handler, f.attempt, (extract(epoch from f.occurred_at) * 1000000)::bigint as occurred_at,
       f.error_class, f.message, (extract(epoch from f.duration) * 1000000)::bigint as duration_seconds
from inbox.failure f join inbox.handler h using (handler_id)
where f.occurred_at > coalesce('epoch'::timestamptz + $1::bigint * interval '1 us',
                               statement_timestamp() - interval '1 hour')
  and ($2::text is null or h.name = $2)
  and ($3::bytea is null or exists (
    select from inbox.ledger l join inbox.event e using (shard_id, "offset")
    where l.event_id = f.event_id and e.key = $3))
order by f.occurred_at desc limit $4::bigint
