-- Messages that the relay would not send: in both tables, waiting in no lane, or below the relay's low_water. At most
-- $1 rows, with the number of all. No locks. Indexes: primary keys. Reads all of outbox_waiting.
select count(*) over (), null::text, m.topic, null::int, null::bigint, m.message_id, null::bigint,
       'message ' || m.outbox_id || ': ' || m.what
from (
  select w.outbox_id, w.message_id, w.topic, 'sent and waiting at once' as what
  from inbox.outbox_waiting w join inbox.outbox o using (outbox_id)
  union all
  select w.outbox_id, w.message_id, w.topic, 'waits in a lane that does not exist'
  from inbox.outbox_waiting w where not exists (select from inbox.outbox_lane l where l.lane = w.lane)
  union all
  select o.outbox_id, o.message_id, o.topic, 'below ' || r.low_water || ', where the relay reads no more'
  from inbox.relay r join inbox.outbox o on o.outbox_id < r.low_water) m
order by m.outbox_id
limit $1::int
