-- The shards, with their topics, the database's time, and the time of the newest event in event_kept; microseconds
-- since 1970. No locks. Reads all of event_kept.
select s.shard_id, s.topic, (extract(epoch from statement_timestamp()) * 1000000)::bigint,
       (extract(epoch from k.newest) * 1000000)::bigint
from inbox.shard s
left join (select shard_id, max(received_at) as newest from inbox.event_kept group by shard_id) k using (shard_id)
order by s.shard_id
