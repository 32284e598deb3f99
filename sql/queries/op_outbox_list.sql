-- Stopped lanes of topics $1 (LIKE patterns; none: all) with their first message, oldest first, at most $2. Keys up to
-- the length shown; counts at most 10,000 messages behind it. No locks. Indexes: primary key of outbox_lane,
-- outbox_waiting_lane.
select h.outbox_id, h.message_id, l.topic, substr(l.key, 1, 257), l.whole_topic, l.error, l.attempts,
       (select count(*) from (select from inbox.outbox_waiting w where w.lane = l.lane limit 10001) c) - 1,
       (extract(epoch from l.stopped_at) * 1000000)::bigint, (extract(epoch from l.due_at) * 1000000)::bigint
from inbox.outbox_lane l
cross join lateral (
  select w.outbox_id, w.message_id from inbox.outbox_waiting w where w.lane = l.lane order by w.outbox_id limit 1) h
where cardinality($1::text[]) = 0 or l.topic like any ($1::text[])
order by h.outbox_id limit $2::bigint
