-- A bite of the ledger that is older than it is kept. Locks: the rows.
with old as (
  select event_id from inbox.ledger
  where received_on < (clock_timestamp() - $1::bigint * interval '1 ms')::date limit $2::int for update skip locked)
delete from inbox.ledger l using old where l.event_id = old.event_id
