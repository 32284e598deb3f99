-- The rows of ledger with ids $1. No locks. Index: primary key of ledger.
select l.event_id, l.shard_id, l."offset", l.digest, (extract(epoch from l.received_at) * 1000000)::bigint
from inbox.ledger l where l.event_id = any ($1::uuid[])
