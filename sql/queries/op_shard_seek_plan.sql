-- The effect of reading shard $1 again from offset $2, or from the first event received since $3. Returns that offset
-- (null: no event was received since), the present position, its epoch, and how many events of the offsets between the
-- ledger knows. No locks. Indexes: event_place of the days since; primary key of position. Reads all of the ledger.
with place as materialized (
  select coalesce($2::bigint, (
           select e."offset" from inbox.event e
           where e.shard_id = $1::int and e.received_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us'
           order by e."offset" limit 1)) as target,
         p.next_offset, p.epoch
  from inbox.position p where p.shard_id = $1::int order by p.epoch desc, p.first_offset desc limit 1)
select a.target, a.next_offset, a.epoch,
       (select count(*) from inbox.ledger l
        where a.target < a.next_offset and l.shard_id = $1::int and l."offset" >= a.target
          and l."offset" < a.next_offset)
from place a
