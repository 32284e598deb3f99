-- Messages to send, the age of the oldest in microseconds, stopped lanes and the messages in them. Counts at most $1 of
-- each. No locks. Indexes: primary keys.
select (select count(*) from (select from inbox.outbox o where o.outbox_id >= r.low_water limit $1::bigint) c),
       (select (extract(epoch from clock_timestamp() - o.published_at) * 1000000)::bigint from inbox.outbox o
        where o.outbox_id >= r.low_water order by o.outbox_id limit 1),
       (select count(*) from (select from inbox.outbox_lane l where l.failed_id is not null limit $1::bigint) c),
       (select count(*) from (select from inbox.outbox_waiting limit $1::bigint) c)
from inbox.relay r
