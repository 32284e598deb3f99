-- A bite of the ledger that is older than it is kept, with what is known of those ids beside: an id that comes again is
-- a new event on each of its topics, and what handlers subscribed to before that decides nothing. Locks: the rows.
-- Index: ledger_received (not with clock_timestamp, which no index can be asked with).
with old as (
  select event_id from inbox.ledger
  where received_on < (statement_timestamp() - $1::bigint * interval '1 ms')::date
  limit $2::int for update skip locked),
also as (
  delete from inbox.also_seen a using old where a.event_id = old.event_id),
former as (
  delete from inbox.former_subscription
  where until < (extract(epoch from statement_timestamp()) * 1000000)::bigint - $1::bigint * 1000 - 86400000000)
delete from inbox.ledger l using old where l.event_id = old.event_id
