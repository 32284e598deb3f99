-- Ids in blocks $1 to $2 (exclusive) of the ledger whose events are not stored, although they should be: received since
-- $4, for the shard with that number in $3. An event with an outcome is left out: it was handled, and deleted under an
-- earlier, shorter retention. At most $5 rows, with the number of all. No locks. Indexes: event_place, outcome_place.
-- Reads these blocks.
with id as materialized (
  select l.event_id, l.shard_id, l."offset", l.received_at
  from inbox.ledger l
  join unnest($3::int[], $4::bigint[]) c(shard_id, since) using (shard_id)
  where l.ctid >= format('(%s,0)', $1::bigint)::tid and l.ctid < format('(%s,0)', $2::bigint)::tid
    and l.received_at >= 'epoch'::timestamptz + c.since * interval '1 us'),
lost as materialized (
  select i.* from id i
  where not exists (
      select from inbox.event e
      where e.shard_id = i.shard_id and e."offset" = i."offset" and e.received_at = i.received_at
        and e.event_id = i.event_id)
    and not exists (  -- restored: on a later day
      select from inbox.event e
      where e.shard_id = i.shard_id and e."offset" = i."offset" and e.event_id = i.event_id)),
handled as materialized (
  select b.shard_id, range_agg(r) as offsets
  from (select l.shard_id, min(l."offset") as first, max(l."offset") as last from lost l group by l.shard_id) b
  join inbox.outcome o
    on o.shard_id = b.shard_id and lower(o.offsets) > b.first - 10000 and lower(o.offsets) <= b.last
  cross join unnest(o.offsets) r
  group by b.shard_id)
select count(*) over (), null::text, s.topic, s.partition, l."offset", l.event_id,
       (extract(epoch from l.received_at) * 1000000)::bigint, null::text
from lost l
join inbox.shard s using (shard_id)
left join handled h using (shard_id)
where not coalesce(h.offsets @> l."offset", false)
order by s.topic, s.partition, l."offset"
limit $5::int
