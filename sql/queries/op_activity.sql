-- What live instances say about their handlers, for `status`: seen within the last $1 seconds, and since when each says
-- it (microseconds since 1970). No locks; a few rows.
select i.activity::text, (extract(epoch from i.last_seen_at) * 1000000)::bigint
from inbox.instance i
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - $1::bigint * interval '1 s'
order by i.instance_id limit 100
