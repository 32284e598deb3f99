-- Events that the ledger does not know: ids $1 or the producer's text $2, received in [$3, $4). Reads all events of
-- these days: the last resort. No locks.
select e.event_id, e.shard_id, e."offset"
from inbox.event e
where (e.event_id = any ($1::uuid[]) or e.source_id = $2::text)
  and e.received_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us'
  and e.received_at < 'epoch'::timestamptz + $4::bigint * interval '1 us'
limit 10
