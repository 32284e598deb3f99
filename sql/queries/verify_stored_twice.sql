-- Events of shard $1 with offsets from $2 to $3 (exclusive), received since $4, that are stored twice: the ledger has
-- their id for another row of event. The ids of earlier events may have been trimmed and have come again. A replay
-- restores such events later, and has their ids in audit. At most $5 rows, with the number of all. No locks. Indexes:
-- event_place; primary key of ledger. Reads all of audit, for each row that it finds.
select count(*) over (), null::text, s.topic, s.partition, e."offset", e.event_id,
       (extract(epoch from e.received_at) * 1000000)::bigint,
       'the ledger has its id for ' || coalesce(o.topic || '/' || o.partition, 'no partition') || '/' || l."offset"
from inbox.event e
join inbox.ledger l on l.event_id = e.event_id
join inbox.shard s on s.shard_id = e.shard_id
left join inbox.shard o on o.shard_id = l.shard_id
where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
  and e.received_at >= 'epoch'::timestamptz + $4::bigint * interval '1 us'
  and ((l.shard_id, l."offset") <> (e.shard_id, e."offset")
       or l.received_at <> e.received_at and exists (
         select from inbox.event f
         where f.shard_id = e.shard_id and f."offset" = e."offset" and f.received_at = l.received_at
           and f.event_id = e.event_id))
  and not exists (
    select from inbox.audit a
    where a.operation in ('dead replay', 'dead edit', 'dead discard', 'lanes release')
      and a.occurred_at between e.received_at - interval '1 min' and e.received_at + interval '1 min'
      and a.detail -> 'event_ids' ? e.event_id::text)
order by e."offset"
limit $5::int
