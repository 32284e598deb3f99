-- Where events of these ids are: $1. No locks. Index: primary key of ledger.
select l.event_id, l.shard_id, l."offset", (l.received_on - date '1970-01-01') as received_day
from inbox.ledger l where l.event_id = any ($1::uuid[])
