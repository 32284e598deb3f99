-- The first event of shard $1 with an offset from $2 to $3 (exclusive) whose id the ledger does not have: if its record
-- were read again, it would be stored again. No row: none. No locks. Indexes: event_place; primary key of ledger.
select e."offset" from inbox.event e
where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
  and not exists (select from inbox.ledger l where l.event_id = e.event_id)
order by e."offset" limit 1
