-- Ids in blocks $1 to $2 (exclusive) of each generation of the ledger whose events are not stored: of shards $3,
-- received since $4 and since the shard's events were trimmed. At most $5 rows, with the number of all. No locks.
-- Index: event_place. Reads these blocks.
with id as materialized (
  select l.event_id, l.shard_id, l."offset", l.received_at
  from inbox.ledger l
  join inbox.shard s on s.shard_id = l.shard_id and s.shard_id = any ($3::int[])
  where l.ctid >= format('(%s,0)', $1::bigint)::tid and l.ctid < format('(%s,0)', $2::bigint)::tid
    and l.received_at >= 'epoch'::timestamptz + $4::bigint * interval '1 us'
    and l.received_at >= coalesce(s.trimmed_before, '-infinity'))
select count(*) over (), null::text, s.topic, s.partition, i."offset", i.event_id,
       (extract(epoch from i.received_at) * 1000000)::bigint, null::text
from id i
join inbox.shard s using (shard_id)
where not exists (
    select from inbox.event e
    where e.shard_id = i.shard_id and e."offset" = i."offset" and e.received_at = i.received_at
      and e.event_id = i.event_id)
  and not exists (  -- restored: on a later day
    select from inbox.event e
    where e.shard_id = i.shard_id and e."offset" = i."offset" and e.event_id = i.event_id)
order by s.topic, s.partition, i."offset"
limit $5::int
