-- Which of event ids $1 the ledger has, with their digests. No locks. Index: primary key of ledger.
select g.event_id, g.digest from inbox.ledger g where g.event_id = any ($1::uuid[])
