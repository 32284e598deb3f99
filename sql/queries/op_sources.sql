-- The sources in the newest events, $1 of each shard since $2: an event id may be made of source and id. No locks.
-- Index: event_place of the days since.
select distinct e.source
from inbox.shard s
cross join lateral (
  select e.source from inbox.event e
  where e.shard_id = s.shard_id and e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us'
  order by e."offset" desc limit $1::bigint) e
where e.source is not null
limit 1000
