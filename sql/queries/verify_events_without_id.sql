-- Events of shard $1 with offsets from $2 to $3 (exclusive), received since $4, whose id the ledger does not have. A
-- replay, which has its ids in audit, restores events whose id may have been trimmed. At most $5 rows, with the number
-- of all. No locks. Indexes: event_place; primary key of ledger. Reads all of audit, for each row that it finds.
select count(*) over (), null::text, s.topic, s.partition, e."offset", e.event_id,
       (extract(epoch from e.received_at) * 1000000)::bigint, null::text
from inbox.event e
join inbox.shard s using (shard_id)
where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
  and e.received_at >= 'epoch'::timestamptz + $4::bigint * interval '1 us'
  and not exists (select from inbox.ledger l where l.event_id = e.event_id)
  and not exists (
    select from inbox.audit a
    where a.operation in ('dead replay', 'dead edit', 'dead discard', 'lanes release')
      and a.occurred_at between e.received_at - interval '1 min' and e.received_at + interval '1 min'
      and a.detail -> 'event_ids' ? e.event_id::text)
order by e."offset"
limit $5::int
