-- The summaries of their last hour that instances other than $1 wrote: host, start and last heartbeat (microseconds
-- since 1970), whether that is within the last $2 seconds, and the summary unless it is larger than $3 bytes. No locks;
-- a few rows.
select i.instance_id, i.host, (extract(epoch from i.started_at) * 1000000)::bigint,
       (extract(epoch from i.last_seen_at) * 1000000)::bigint,
       i.stopped_at is null and i.last_seen_at > clock_timestamp() - $2::bigint * interval '1 s',
       case when octet_length(i.history) <= $3::int then i.history end
from inbox.instance i
where i.instance_id <> $1::uuid and i.last_seen_at > clock_timestamp() - interval '65 min'
order by i.last_seen_at desc limit 100
