-- The last daemon of each handler, if it has ended or has not been seen for $1 seconds, for `status`: host, process and
-- when it was seen last (microseconds since 1970). No locks; instances of 7 days.
select distinct on (h.handler_id) h.handler_id, i.host, i.process_id,
       (extract(epoch from i.last_seen_at) * 1000000)::bigint
from inbox.instance i
cross join lateral unnest(i.handlers || i.registered) h(handler_id)
where i.stopped_at is not null or i.last_seen_at < clock_timestamp() - $1::bigint * interval '1 s'
order by h.handler_id, i.last_seen_at desc
