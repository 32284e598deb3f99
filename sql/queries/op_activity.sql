-- What live instances say about their handlers, for `status`: seen within the last $1 seconds, and since when each says
-- it (microseconds since 1970). No locks; a few rows.
select i.activity::text, (extract(epoch from i.last_seen_at) * 1000000)::bigint
from inbox.instance i
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - $1::bigint * interval '1 s'
  and not exists (  -- killed: a successor has ended its leases
    select from inbox.instance n where n.instance_id = i.successor and n.started_at >= i.last_seen_at)
order by i.instance_id limit 100
