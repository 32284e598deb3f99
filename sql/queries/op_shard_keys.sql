-- The keys of each partition's newest $1 events, in order of topic. No locks. Index: event_place, backwards.
select s.topic, s.partition, e.key
from inbox.shard s
cross join lateral (
  select v.key from inbox.event v where v.shard_id = s.shard_id order by v."offset" desc limit $1::int) e
where s.source = 'kafka'
order by s.topic, s.partition
