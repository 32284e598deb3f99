-- Daemons seen within the last day that did not stop cleanly, for `status`. Their topics include local topics that were
-- declared since their start, if they read them. Then the digest of its handlers' settings, the partitions that it
-- reads, and the time since the brokers last told the end of one. No locks; a few rows. Index: unique key of shard.
select i.instance_id, i.host, i.version, i.process_id, (extract(epoch from i.started_at) * 1000000)::bigint,
       (extract(epoch from i.last_seen_at) * 1000000)::bigint,
       (extract(epoch from clock_timestamp() - i.last_seen_at) * 1000000)::bigint as unseen_us, i.trouble,
       (i.handlers || i.registered)::text[],
       case when cardinality(i.topics) > 0 then i.topics || array(
         select t.topic from inbox.local_topic t join inbox.reading r on r.topic = t.topic and r.partition = 0
         where r.instance_id = i.instance_id) else i.topics end,
       case when i.settings <> '{}' then left(md5(i.settings::text), 8) end, coalesce(reads.partitions, 0),
       (extract(epoch from clock_timestamp() - reads.answered_at) * 1000000)::bigint
from inbox.instance i
left join lateral (
  select count(distinct (r.topic, r.partition))::int as partitions, max(s.observed_at) as answered_at
  from inbox.reading r
  left join inbox.shard s on s.source = 'kafka' and s.topic = r.topic and s.partition = r.partition
  where r.instance_id = i.instance_id and r.read_at > clock_timestamp() - interval '15 s') reads on true
where i.stopped_at is null and i.last_seen_at > clock_timestamp() - interval '1 day'
order by i.last_seen_at desc limit 100
