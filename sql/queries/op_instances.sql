-- Daemons that were seen within the last day and did not say goodbye, for `status`. No locks; a handful of rows.
select i.instance_id, i.host, i.version, i.process_id, (extract(epoch from i.started_at) * 1000000)::bigint,
       (extract(epoch from i.last_seen_at) * 1000000)::bigint,
       (extract(epoch from clock_timestamp() - i.last_seen_at) * 1000000)::bigint as unseen_us, i.trouble
from inbox.instance i
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - interval '1 day'
order by i.last_seen_at desc limit 100
