-- Daemons seen within the last day that did not stop cleanly, for `status`. Their topics include local topics that were
-- declared since their start, if they read them. No locks; a few rows.
select i.instance_id, i.host, i.version, i.process_id, (extract(epoch from i.started_at) * 1000000)::bigint,
       (extract(epoch from i.last_seen_at) * 1000000)::bigint,
       (extract(epoch from clock_timestamp() - i.last_seen_at) * 1000000)::bigint as unseen_us, i.trouble,
       (i.handlers || i.registered)::text[],
       case when cardinality(i.topics) > 0 then i.topics || array(
         select t.topic from inbox.local_topic t join inbox.reading r on r.topic = t.topic and r.partition = 0
         where r.instance_id = i.instance_id) else i.topics end
from inbox.instance i
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - interval '1 day'
order by i.last_seen_at desc limit 100
