-- Refused messages of topics $1 (LIKE patterns; none: all), oldest first, at most $2. Keys up to the length shown;
-- counts at most 10,000 messages that wait with each. No locks. Indexes: primary keys, outbox_waiting_lane.
select w.outbox_id, w.message_id, l.topic, substr(l.key, 1, 257) as key, l.whole_topic, l.error, l.attempts,
       (select count(*) from (select from inbox.outbox_waiting c where c.lane = l.lane limit 10001) c) - 1 as waiting,
       (extract(epoch from l.stopped_at) * 1000000)::bigint as stopped_at,
       case when l.due_at is not null
         then (extract(epoch from greatest(l.due_at, statement_timestamp())) * 1000000)::bigint end as due_at
from inbox.outbox_lane l
join inbox.outbox_waiting w on w.outbox_id = l.failed_id
where cardinality($1::text[]) = 0 or l.topic like any ($1::text[])
order by w.outbox_id limit $2::bigint
